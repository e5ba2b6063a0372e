"""Public names; written by tools/make_stub.py, not by hand."""

from .monitor import Monitor as Monitor
from .status import MonitorStatus as MonitorStatus
