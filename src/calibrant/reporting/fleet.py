"""The page of a fleet as one HTML page without scripts: all models, the worst first."""

from __future__ import annotations

import os
from pathlib import Path

from ..monitoring.fleet import FleetStatus
from ..util.files import write_atomic
from ..util.results import number, percent
from ..util.version import __version__
from .templates import environment

STATES = {
    "alarm": "calibration alarm",
    "failed": "failed",
    "drift": "drift alarm",
    "stale": "no new data",
    "quiet": "no alarm",
}


def write_fleet(path: str | os.PathLike[str], status: FleetStatus, *, title: str = "Fleet") -> Path:
    """Write the status of a fleet as an HTML page.

    The page lists all models, the worst first, with owner, last window, evidence against calibration and open alarms. It is
    self-contained; the same status gives the same bytes.

    Parameters
    ----------
    path : str or path-like
        File to write.
    status : FleetStatus
        Result of `fleet_status`.
    title : str, default "Fleet"
        Heading of the page.

    Returns
    -------
    pathlib.Path
        The file written.

    See Also
    --------
    calibrant.fleet_status : Status of several monitored models.
    calibrant.write_timeline : The page of one model.

    Examples
    --------
    >>> import os, tempfile
    >>> import calibrant as cal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = os.path.join(folder, "churn.db")
    ...     monitor = cal.Monitor.create(store, reference=([0, 1, 1], [0.1, 0.4, 0.8]), every="1d")
    ...     page = cal.write_fleet(os.path.join(folder, "fleet.html"), cal.fleet_status({"churn": store})).read_text()
    >>> "0 of 1 model with an open alarm" in page
    True
    """
    page = (
        environment(number=number, percent=percent)
        .get_template("fleet.html")
        .render(title=title, version=__version__, fleet=status, states=STATES)
    )
    return write_atomic(path, page.encode())
