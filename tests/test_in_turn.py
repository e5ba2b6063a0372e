"""Checking many values in one test: all are checked, and an error names its value."""

from pathlib import Path

import pytest

from tests.in_turn import in_turn, spread

SEEN: list[tuple[int, bool]] = []


@in_turn("number", [1, 2, 3])
def check(tmp_path: Path, number: int) -> None:
    SEEN.append((number, tmp_path.exists()))
    assert number % 2 == 0


def test_every_value_is_checked_and_every_error_named(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup, match="2 of 3 fail") as caught:
        check(tmp_path)
    assert SEEN == [(1, True), (2, True), (3, True)]
    assert [error.__notes__ for error in caught.value.exceptions] == [["number: 1"], ["number: 3"]]


@in_turn("number", [1, 2, 3])
def skip_or_fail(number: int) -> None:
    if number == 1:
        pytest.skip("nothing to check")
    if number == 2:
        with pytest.raises(ValueError, match="too small"):
            pass


def test_what_is_skipped_or_does_not_raise_is_named_too() -> None:
    with pytest.raises(BaseExceptionGroup, match="2 of 3 fail") as caught:
        skip_or_fail()
    assert [error.__notes__ for error in caught.value.exceptions] == [["number: 1"], ["number: 2"]]


@in_turn("letter", "ab")
class TestInAClass:
    @pytest.mark.parametrize("number", [1, 2])
    def test_other_parameters_and_fixtures_are_those_of_the_test(
        self, letter: str, number: int, tmp_path: Path
    ) -> None:
        (tmp_path / f"{letter}{number}").touch()
        expected = [f"{each}{number}" for each in "ab" if each <= letter]
        assert sorted(each.name for each in tmp_path.iterdir()) == expected


MET: list[tuple[str, int]] = []


@pytest.mark.parametrize("number", [1, 2, pytest.param(3, marks=pytest.mark.deep)])
@spread("letter", "abcdefgh")
def meet(letter: str, number: int) -> None:
    MET.append((letter, number))
    if letter == "a":
        pytest.skip("some may be skipped")


def test_each_value_meets_one_case_of_the_short_form_and_all_of_the_long() -> None:
    MET.clear()
    for number in (1, 2):
        meet(number=number, deep=False)
    assert sorted(letter for letter, _ in MET) == list("abcdefgh")
    assert {number for _, number in MET} == {1, 2}
    MET.clear()
    for number in (1, 2, 3):
        meet(number=number, deep=True)
    assert len(set(MET)) == 24


@spread("number", [1, 2, 3])
def skip_all(number: int) -> None:
    pytest.skip("nothing to check")


@spread("number", [1, 2, 3])
def fail_one(number: int) -> None:
    assert number != 2


def test_an_error_of_a_value_is_named_and_not_all_may_be_skipped() -> None:
    with pytest.raises(AssertionError, match="every value is skipped"):
        skip_all(deep=True)
    with pytest.raises(BaseExceptionGroup, match="1 of 3 fail") as caught:
        fail_one(deep=False)
    assert caught.value.exceptions[0].__notes__ == ["number: 2"]
