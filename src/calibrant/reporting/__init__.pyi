"""Public names, loaded when they are first used."""

from .building import Report as Report
from .building import report as report
from .timeline import write_timeline as write_timeline
from .tripod_items import tripod as tripod
