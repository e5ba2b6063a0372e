"""``calibrant certify``: an upper bound of the calibration error as a certificate; ``calibrant verify``: its verification."""

from __future__ import annotations

from typing import Any

import click

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
    type=click.Choice(["monotone", "variation", "levels", "none"]),
    default="monotone",
    show_default=True,
    help="Assumption on the calibration curve: non-decreasing, a total variation of at most --variation; or nothing: levels is for scores "
    "with few distinct values, none bounds the error over bins of equal width.",
)
@click.option("--variation", type=float, metavar="NUMBER", help="Largest total variation of the calibration curve.")
@click.option("--bins", type=int, default=15, show_default=True, help="Number of bins, for --assuming none.")
@click.option("--lens", default="auto", help="What is evaluated: the positive class, top_label or class:NAME.")
@options.written_option(
    "--out", suffixes=(".json", ".html", ".md"), help="Where to write the certificate, and the page."
)
@options.json_option
@options.debug_option
def run(file: str, *, out: str | None, as_json: bool, **options: Any) -> None:
    """Certify an upper bound of the calibration error of the predictions in FILE, at any number of rows.

    See verify for the verification of a certificate.
    """
    source = Source.take(file, options)
    certificate = certify(source.read(), **options)
    if out is not None:
        certificate.save(out)
    if as_json:
        print_json({"file": file, **certificate.to_dict()})
    else:
        print_lines(repr(certificate).split("\n"))
    if out is not None:
        say(f"Wrote {out}", err=as_json)


@options.command("verify")
@options.source_options(options.score_options, options.groups_option("Groups that are certified."))
@click.option("--certificate", metavar="CERTIFICATE", required=True, help="File (.json) that certify has written.")
@options.json_option
@options.debug_option
def run_verify(file: str, *, certificate: str, as_json: bool, **options: Any) -> bool:
    """Verify that the predictions in FILE give the bounds of a certificate; exits with 1 if they do not.

    Level, assumption and lens are those of the certificate.
    """
    source = Source.take(file, options)
    certified = load_certificate(certificate)
    differences = certified.check(source.read())
    if as_json:
        state = {"confirmed": not differences, "differences": list(differences)}
        print_json({"file": file, **certified.to_dict(), **state})
    else:
        print_lines(differences or [certified.statement, "The certificate is confirmed."])
    return bool(differences)
