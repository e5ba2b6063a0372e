"""Options of the generalised calibration error on the command line: groups of classes, selections of rows, options of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from ..errors import ArgumentError
from ..evaluation.measure import CELL_OPTIONS, cell_metrics, takes_cell_option
from ..metrics.registry import Metric
from ..views.lenses import Lens, class_groups
from ..views.selections import Selection, select

EXAMPLE = 'write it as "animal=cat,dog; vehicle=car"'
FORMS = "write label:NAME, predicted:NAME, output:LOW:HIGH or output:LOW:HIGH:CLASS"


def lens_of(lens: str | None, groups: str | None) -> str | Lens | None:
    """The lens of ``--lens``, or that of ``--class-groups``."""
    if groups is None:
        return lens
    if lens is not None:
        raise ArgumentError("--class-groups", "cannot be combined with --lens", "give one of them")
    mapping: dict[str, list[str]] = {}
    for part in groups.split(";"):
        name, sign, members = part.partition("=")
        classes = [member.strip() for member in members.split(",") if member.strip()]
        if not sign or not name.strip() or not classes:
            raise ArgumentError("--class-groups", f"{part.strip()!r} is not a group with its classes", EXAMPLE)
        if name.strip() in mapping:
            raise ArgumentError(
                "--class-groups", f"the group {name.strip()!r} was given twice", "give all its classes at once"
            )
        mapping[name.strip()] = classes
    if len(mapping) < 2:
        raise ArgumentError("--class-groups", "must have two or more groups; got 1", EXAMPLE)
    return class_groups(mapping)


def selection_of(texts: Sequence[str]) -> Selection | None:
    """The rows that satisfy every ``--select``; None without one."""
    return reduce(and_, map(_selection, texts)) if texts else None


def _selection(text: str) -> Selection:
    kind, _, rest = text.partition(":")
    kind = kind.strip()
    if kind in ("label", "predicted"):
        names = [name.strip() for name in rest.split(",") if name.strip()]
        if names:
            return select.label(*names) if kind == "label" else select.predicted(*names)
    elif kind == "output":
        low, _, more = rest.partition(":")
        high, sign, of = more.partition(":")
        try:
            bounds = float(low or 0), float(high or 1)
        except ValueError:
            raise ArgumentError("--select", f"{text!r} has a bound that is not a number", FORMS) from None
        if rest and not (sign and not of.strip()):
            try:
                return select.output(*bounds, of=of.strip() or None)
            except ArgumentError as error:
                raise ArgumentError("--select", error.problem) from None
    raise ArgumentError("--select", f"{text!r} is not a selection of rows", FORMS)


def cell_options(metrics: Sequence[Metric], **given: Any) -> dict[str, Any]:
    """The options of cells that were given; one that no metric takes raises."""
    found = {name: value for name, value in given.items() if value is not None}
    for name in found:
        if name in CELL_OPTIONS and not any(takes_cell_option(metric, name) for metric in metrics):
            raise ArgumentError(
                f"--{name}", f"applies to {cell_metrics(name)}", "name one of these metrics, or drop it"
            )
    return found
