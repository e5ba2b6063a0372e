"""Public names; written by tools/make_stub.py, not by hand."""

from .building import report as report
from .compared import ReportComparison as ReportComparison
from .comparing import compare_reports as compare_reports
from .content import Report as Report
from .timeline import write_timeline as write_timeline
