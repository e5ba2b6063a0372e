"""The page of a fleet as one HTML page without scripts: all models, the worst first."""

from __future__ import annotations

import os
from pathlib import Path

from ..monitoring.fleet import FleetStatus
from ..util.files import write_atomic
from ..util.results import number, percent
from ..util.version import __version__
from .tables import Column, Table, amount, pvalue_cell, text_column
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
    calibrant.monitoring.fleet_status : Status of several monitored models.
    calibrant.reporting.write_timeline : The page of one model.

    Examples
    --------
    >>> import os, tempfile
    >>> import calibrant as cal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = os.path.join(folder, "churn.db")
    ...     monitor = cal.Monitor.create(store, reference=([0, 1, 1], [0.1, 0.4, 0.8]), every="1d")
    ...     page = cal.reporting.write_fleet(os.path.join(folder, "fleet.html"), cal.monitoring.fleet_status({"churn": store})).read_text()
    >>> "0 of 1 model with an open alarm" in page
    True
    """
    page = (
        environment(percent=percent)
        .get_template("fleet.html")
        .render(title=title, version=__version__, fleet=status, table=fleet_table(status))
    )
    return write_atomic(path, page.encode())


def fleet_table(status: FleetStatus) -> Table:
    """One row for each model."""
    columns = (
        text_column("model", "model"),
        text_column("owner", "owner", lambda owner: owner or "-"),
        text_column("state", "state", STATES.__getitem__),
        text_column("selected", "e-BH", lambda selected: "selected" if selected else "-"),
        text_column("last_window", "last window", lambda window: window or "-"),
        Column("n", "rows", amount),
        Column("labelled", "labelled", amount),
        Column("e_value", "e-value", number),
        Column("drift_pvalue drift_selected", "drift p", lambda p, selected: pvalue_cell(p) + "*" * bool(selected)),
    )
    return Table("models", columns, status.models, marked="state")
