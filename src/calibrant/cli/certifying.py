"""``calibrant certify``: an upper bound of the calibration error as a certificate, and its verification."""

from __future__ import annotations

from typing import Any

import click

from ..errors import ArgumentError
from ..evaluation.certificates import certify, load_certificate
from . import options
from .screen import print_json, print_lines, say
from .source import Source


@options.command("certify")
@options.source_options(
    options.score_options,
    options.groups_option("Groups that are certified at the same time."),
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Probability with which all bounds hold.")
@click.option(
    "--assuming",
    type=click.Choice(["monotone", "variation", "none"]),
    default="monotone",
    show_default=True,
    help="Assumption on the calibration curve: non-decreasing, a total variation of at most --variation, or none, which bounds the error "
    "over bins of equal width.",
)
@click.option("--variation", type=float, metavar="NUMBER", help="Largest total variation of the calibration curve.")
@click.option("--bins", type=int, default=15, show_default=True, help="Number of bins, for --assuming none.")
@click.option("--lens", default="auto", help="What is evaluated: the positive class, top_label or class:NAME.")
@options.written_option(
    "--out", suffixes=(".json", ".html", ".md"), help="Where to write the certificate, and the page."
)
@click.option(
    "--check", metavar="CERTIFICATE", help="Verify a certificate (.json) against FILE in place of making one."
)
@options.json_option
@options.debug_option
def run(file: str, *, out: str | None, check: str | None, as_json: bool, **options: Any) -> bool:
    """Certify an upper bound of the calibration error of the predictions in FILE, at any number of rows.

    With --check, verify that FILE gives the bounds of a certificate; exits with 1 if it does not.
    """
    source = Source.take(file, options)
    if check is not None and out is not None:
        raise ArgumentError("--check", "cannot be combined with --out", "give one of them")
    data = source.read()
    if check is None:
        certificate = certify(data, **options)
        if out is not None:
            certificate.save(out)
    else:
        certificate = load_certificate(check)
    differences = () if check is None else certificate.check(data)
    if as_json:
        state = {} if check is None else {"confirmed": not differences, "differences": list(differences)}
        print_json({"file": file, **certificate.to_dict(), **state})
    elif check is None:
        print_lines(repr(certificate).split("\n"))
    else:
        print_lines(differences or [certificate.statement, "The certificate is confirmed."])
    if out is not None:
        say(f"Wrote {out}", err=as_json)
    return bool(differences)
