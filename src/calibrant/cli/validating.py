"""``calibrant validate``: compare this installation with stored values, and write the validation dossier."""

from __future__ import annotations

import click

from ..validation.dossier import validate
from . import options
from .screen import print_json, print_lines, say


@options.command("validate")
@options.written_option(
    "--out", suffixes=(".html", ".md", ".json"), help="Where to write the dossier: .html, .md or .json."
)
@click.option(
    "--deep",
    is_flag=True,
    help="Evaluate all rows, and start Spark if it is installed; otherwise one of the two stored values of each test and interval.",
)
@click.option(
    "--only",
    metavar="ROWS",
    help="Evaluate only the row with this id, or the rows whose id begins with this text or matches this pattern, such as definitions/ece/.",
)
@options.json_option
@options.debug_option
def run(out: str | None, deep: bool, only: str | None, as_json: bool) -> bool:
    """Check that this installation computes what it should, without a network, and write the validation dossier.

    Every metric, test, interval, calibrator and decision is compared with stored values: definitions, packages of R and of Python, and an
    earlier version. The dossier traces each requirement to its definition,
    rows, sources and result, and states versions and checksums, size, power and coverage, and the known limits. The same installation
    gives the same bytes. Exits with 1 if a row fails.
    """
    dossier = validate(deep=deep, only=only)
    if out is not None:
        dossier.save(out)
    if as_json:
        print_json(dossier.to_dict())
    else:
        print_lines(repr(dossier).split("\n"))
    if out is not None:
        say(f"Wrote {out}", err=as_json)
    return not dossier.passed
