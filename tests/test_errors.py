"""Errors and warnings: their parts, and their text in Python and on the command line."""

import pickle
import warnings

import pytest

from calibrant.cli.wording import OptionWording
from calibrant.errors import (
    ArgumentError,
    CalibrantError,
    CalibrantWarning,
    FileError,
    InputWarning,
    ProbabilityError,
    warn_caller,
)


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


def test_the_command_line_names_its_options_and_the_remedies_that_it_has() -> None:
    wording = OptionWording(["--prob", "--normalize", "--logits", "--by", "--method", "--classes"], ["--by=site"])
    remedy = "pass normalize=True to rescale, multilabel=True if the columns are independent, or input='logit' if these are logits"
    error = ProbabilityError("y_prob", "must sum to 1", remedy)
    assert wording.render(error) == (
        "--prob: must sum to 1; use --normalize to rescale, or --logits if these are logits"
    )
    assert (
        wording.render(ArgumentError("every", "cannot be combined with groups"))
        == "every: cannot be combined with --by"
    )
    assert (
        wording.render(ArgumentError("method", "b", "use method='beta' or soft=True"))
        == "--method: b; use --method beta"
    )
    assert wording.render(ArgumentError("", "b", "pass y_prob.T, or np.clip(p)")) == "b"
    assert wording.render(ArgumentError("", "b", "use classes=['a', 'b']")) == "b; use --classes a,b"
    assert wording.render(ArgumentError("", "b", "drop or correct the row")) == "b; drop or correct the row"


def test_parts_are_replaced() -> None:
    error = ProbabilityError("y_prob", "differs from y_true", "use input='logit'", row=1)
    other = error.replaced({"y_prob": "scores", "y_true": "y", "input": "form"}, row=7)
    assert type(other) is ProbabilityError
    assert str(other) == "scores: differs from y in row 7; use form='logit'"
    assert str(error.replaced(argument="q", remedy="stop")) == "q: differs from y_true in row 1; stop"


@pytest.mark.parametrize("kind", [CalibrantError, FileError, InputWarning])
def test_errors_and_warnings_are_pickled_with_their_parts(kind: type[CalibrantError]) -> None:
    error = kind("a", "b c", "use d=1 or e", row=2, column=3, count=4, source="f")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error) == "a: b c, the first in row 2, column 3 of f; use d=1 or e"
    assert (again.argument, again.row, again.column, again.count, again.source) == ("a", 2, 3, 4, "f")


def test_warnings_have_parts_or_one_text() -> None:
    with pytest.warns(InputWarning, match="^a: b; pass c$") as caught:
        warn_caller(InputWarning("a", "b", "pass c"))
    assert isinstance(caught[0].message, CalibrantWarning)
    assert caught[0].message.argument == "a"
    with pytest.warns(InputWarning, match="^just text$"):
        warn_caller("just text", InputWarning)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.warn("just text", InputWarning, stacklevel=1)
    assert str(seen[0].message) == "just text"
