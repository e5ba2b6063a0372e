"""Errors and warnings: their parts, and the one method that renders them."""

from __future__ import annotations

import pickle
import warnings

import pytest

from calibrant.errors import (
    Argument,
    ArgumentError,
    CalibrantError,
    CalibrantWarning,
    Drop,
    FileError,
    InputWarning,
    InPython,
    ProbabilityError,
    Remedy,
    Use,
    Wording,
    warn_caller,
)


@pytest.mark.parametrize(
    ("remedy", "text"),
    [
        ("", "a: b"),
        ("look here", "a: b; look here"),
        (Use("soft", True, "if the labels are shares"), "a: b; pass soft=True if the labels are shares"),
        (Use("bins", 20), "a: b; use bins=20"),
        (Use("bins", 1), "a: b; use bins=1"),
        (Use("groups"), "a: b; pass groups"),
        (Use("method", "beta"), "a: b; use method='beta'"),
        (Drop("input", "logit", "if these are probabilities"), "a: b; drop input='logit' if these are probabilities"),
        (InPython("pass y_prob.T"), "a: b; pass y_prob.T"),
        ((Use("accuracy"), Use("coverage")), "a: b; pass accuracy or coverage"),
        ((Use("bins", 20), "look here"), "a: b; use bins=20 or look here"),
        (
            (Use("normalize", True, "to rescale"), Use("clip", True), Use("input", "logit", "if these are logits")),
            "a: b; pass normalize=True to rescale, clip=True, or use input='logit' if these are logits",
        ),
    ],
)
def test_alternatives_are_joined(remedy: Remedy, text: str) -> None:
    error = ArgumentError("a", "b", remedy)
    assert str(error) == text
    assert error.remedy == text.partition("; ")[2]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"row": 130}, "a: 1 missing value in row 130"),
        ({"row": 130, "count": 1}, "a: 1 missing value in row 130"),
        ({"row": 130, "count": 12}, "a: 1 missing value, the first in row 130"),
        ({"row": 3, "column": 2}, "a: 1 missing value in row 3, column 2"),
        ({"row": 3, "source": "p.csv", "count": 2}, "a: 1 missing value, the first in row 3 of p.csv"),
        ({"source": "partition 2"}, "a: 1 missing value in partition 2"),
    ],
)
def test_the_location_is_rendered_from_the_row(place: dict[str, int | str], text: str) -> None:
    assert str(ProbabilityError("a", "1 missing value", **place)) == text  # type: ignore[arg-type]


class Shouted(Wording):
    """Names in capitals; there is no argument called secret."""

    verb = "use"

    def name(self, argument: str) -> str | None:
        return None if argument == "secret" else argument.upper()

    def given(self, argument: str, value: object) -> str | None:
        name = self.name(argument)
        return None if name is None else f"{name} {value}"

    def row(self, row: int) -> str:
        return f"on line {row + 2}"

    def instead(self, argument: str) -> str:
        return f"change {argument}"


def test_another_wording_renames_arguments_and_rows() -> None:
    problem = "cannot be combined with ", Argument("rows")
    error = ArgumentError("every", problem, (Use("secret", 1), Use("bins", 3)), row=4, count=2)
    assert error.problem == "cannot be combined with rows"
    assert error.render(Shouted()) == "EVERY: cannot be combined with ROWS, the first on line 6; use BINS 3"
    assert ArgumentError("every", "b", Use("secret")).render(Shouted()) == "EVERY: b; change every"
    assert ArgumentError("secret", "b").render(Shouted()) == "secret: b"


def test_parts_are_replaced() -> None:
    error = ProbabilityError("y_prob", ("differs from ", Argument("y_true")), Use("input", "logit"), row=1)
    other = error.replaced({"y_prob": "scores", "y_true": "y", "input": "form"}, row=7)
    assert type(other) is ProbabilityError
    assert str(other) == "scores: differs from y in row 7; use form='logit'"
    assert str(error.replaced(argument="q", remedy="stop")) == "q: differs from y_true in row 1; stop"


@pytest.mark.parametrize("kind", [CalibrantError, FileError, InputWarning])
def test_errors_and_warnings_are_pickled_with_their_parts(kind: type[CalibrantError]) -> None:
    error = kind("a", ("b ", Argument("c")), (Use("d", 1), "e"), row=2, column=3, count=4, source="f")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error) == "a: b c, the first in row 2, column 3 of f; use d=1 or e"
    assert (again.argument, again.row, again.column, again.count, again.source) == ("a", 2, 3, 4, "f")
    assert again.render(Shouted()) == error.render(Shouted())


def test_warnings_have_parts_or_one_text() -> None:
    with pytest.warns(InputWarning, match="^a: b; pass c$") as caught:
        warn_caller(InputWarning("a", "b", Use("c")))
    assert isinstance(caught[0].message, CalibrantWarning)
    assert caught[0].message.argument == "a"
    with pytest.warns(InputWarning, match="^just text$"):
        warn_caller("just text", InputWarning)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.warn("just text", InputWarning, stacklevel=1)
    assert str(seen[0].message) == "just text"
