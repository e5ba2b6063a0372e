"""What a newcomer meets: options given twice, outputs that cannot be written, files of other kinds, words of the command line."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.cli.main import cli
from calibrant.cli.options import OnceCommand
from calibrant.cli.wording import OptionWording
from calibrant.errors import ArgumentError
from calibrant.util.files import check_writable
from tests.calling import Run, check_refusal
from tests.in_turn import in_turn

RNG = np.random.default_rng(3)
SCORES = RNG.beta(1, 2, 400).round(5)
EVENTS = (RNG.random(400) < SCORES**0.7).astype(int)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    pd.DataFrame({"y": EVENTS, "p": SCORES, "g": EVENTS * 3}).to_csv(path, index=False)
    return path


@pytest.fixture
def yes_no(tmp_path: Path) -> Path:
    """Two columns with that of the positive class first."""
    path = tmp_path / "yes_no.csv"
    words = np.array(["no", "yes"])[EVENTS]
    pd.DataFrame({"label": words, "p_yes": SCORES, "p_no": (1 - SCORES).round(5)}).to_csv(path, index=False)
    return path


def commands(group: click.Group = cli, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        elif command is not None:
            yield (*before, name), command


def value_of(option: click.Option) -> list[str]:
    if option.is_flag:
        return []
    if isinstance(option.type, click.Choice):
        return [str(option.type.choices[0])]
    return ["1"] * option.nargs


ALL = [
    (names, option)
    for names, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.multiple and (not option.is_flag or option.secondary_opts)
]


@in_turn("given", ALL, lambda given: f"{' '.join(given[0])} {given[1].opts[0]}")
def test_an_option_given_twice_is_refused(run: Run, given: tuple[tuple[str, ...], click.Option]) -> None:
    names, option = given
    for first in option.opts:  # another name of the same option is the same option
        again = option.secondary_opts[0] if option.secondary_opts else option.opts[0]
        code, out, err = run(*names, first, *value_of(option), again, *value_of(option))
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {option.opts[0]}: given 2 times; give it")


def test_every_command_looks_at_options_that_come_twice(rows: Path, run: Run) -> None:
    assert all(isinstance(command, OnceCommand) for _, command in commands())
    assert (
        "give its values as one comma-separated list"
        in run("evaluate", rows, "--metrics", "ece", "--metrics", "nll")[2]
    )
    assert run("evaluate", rows, "--metrics", "ece", "--json", "--json")[0] == 0
    gates = ("--fail-if", "ece > 1", "--fail-if", "nll > 9")
    assert run("evaluate", rows, "--metrics", "ece", *gates)[0] == 0


# What cannot be written


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    check_writable(tmp_path / "x.html")
    check_writable(tmp_path / "a" / "b", folder=True)
    assert list(tmp_path.iterdir()) == []
    if os.path.isdir("/proc/self"):
        with pytest.raises(cal.errors.FileError):
            check_writable("/proc/x.html")


# Files of other kinds


@pytest.mark.parametrize("stream", [[], ["--stream"]])
@pytest.mark.parametrize(("encoding", "name"), [("latin-1", "Latin-1"), ("utf-16", "UTF-16")])
def test_text_in_another_encoding_is_named(
    tmp_path: Path, run: Run, encoding: str, name: str, stream: list[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("label,p,straße\n1,0.5,é\n0,0.2,ü\n".encode(encoding))
    told = f"is not UTF-8 text (it may be {name}); save it as UTF-8"
    check_refusal(run("evaluate", path, *stream), told)
    if encoding == "utf-16":
        path.write_bytes(("label,p\n" + "1,0.5\n0,0.2\n" * 200).encode(encoding))
        assert told in run("evaluate", path, *stream)[2]


# Words


@pytest.mark.parametrize(
    ("remedy", "options", "spoken"),
    [
        (
            "pass classes in the order of the columns, or pass pos_label",
            ["--classes"],
            "x: y; use --classes in the order of the columns",
        ),
        ("use method='consistency'", [], "x: y"),
        ("use lens='top_label' or method='consistency'", ["--lens"], "x: y; use --lens top_label"),
        ("use bandwidth=0.1 or drop it", [], "x: y; drop it"),
        (
            "use classes=['negative', 'positive'] instead",
            ["--classes"],
            "x: y; use --classes negative,positive instead",
        ),
        ("use classes=[1, ..., 10]", ["--classes"], "x: y; use --classes 1,...,10"),
        ("use lens='class:cat'", ["--lens"], "x: y; use --lens class:cat"),
        ("pass x.T, or drop input='logit'", ["--logits"], "x: y; drop --logits"),
    ],
)
def test_remedies_that_only_python_has_are_left_out(remedy: str, options: list[str], spoken: str) -> None:
    assert OptionWording(options).render(ArgumentError("x", "y", remedy)) == spoken


KEYWORD = re.compile(
    r"\b(pos_label|classes|lens|method|grid|features|groups|sample_weight|n_resamples|rng|repair|input|map|by)="
)


def test_no_text_of_a_command_speaks_of_keywords(tmp_path: Path, rows: Path, run: Run, deep: bool) -> None:
    """Those of refusals are in the transcript of tests/faults."""
    fitted, page = tmp_path / "calibrator.json", tmp_path / "page.md"
    assert run("fit", rows, "--method", "platt", "--out", fitted)[0] == 0
    calls: list[tuple[object, ...]] = [
        ("evaluate", rows, "--metrics", "lce,pce,mcm,skce_ul,klce,ece", "--assess", "--resamples", "40"),
        ("select", rows, "--accuracy", "0.99"),
        ("report", rows, "--out", page, "--metrics", "lce,ece,pce", "--no-recalibration"),
    ]
    longer: list[tuple[object, ...]] = [
        ("report", rows, "--calibrator", fitted, "--out", page),
        ("run", "--validation", rows, "--test", rows, "--out", tmp_path / "o", "--metrics", "lce,ece"),
    ]
    for call in calls + longer * deep:
        _, out, err = run(*call)
        assert not KEYWORD.search(out + err), (call, out + err)
        assert "Traceback" not in err
    assert not KEYWORD.search(page.read_text(encoding="utf-8"))
    refusals = (Path(__file__).parents[1] / "faults" / "commands.txt").read_text(encoding="utf-8")
    assert not KEYWORD.search(refusals)


# The positive class


def test_the_positive_class_is_told_by_its_name_and_said(yes_no: Path, tmp_path: Path, run: Run) -> None:
    fast = ("--resamples", "200")
    assert "rows, positive class yes, " in run("evaluate", yes_no, "--metrics", "ece")[1]
    assert run("assess", yes_no)[1].startswith("positive class yes\n")
    assert '"positive_class": "yes"' in run("assess", yes_no, "--json")[1]
    assert "positive class yes" in run("fit", yes_no, "--method", "platt", "--out", tmp_path / "calibrator.json")[1]
    assert run("report", yes_no, "--out", tmp_path / "page.md", "--metrics", "ece", "--no-recalibration", *fast)[0] == 0
    assert "positive class yes" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert run("scan", yes_no, "--out", tmp_path / "x.sketch")[0] == 0
    assert "positive class yes" in run("evaluate", tmp_path / "x.sketch", "--metrics", "ece")[1]


def test_a_positive_class_by_place_is_noted(tmp_path: Path, yes_no: Path, run: Run) -> None:
    path = tmp_path / "loans.csv"
    text = yes_no.read_text().replace("p_yes", "p_default").replace("p_no", "p_ok")
    path.write_text(re.sub("(?m)^yes", "default", re.sub("(?m)^no", "ok", text)))
    note = "note: the second column, ok, is taken as the positive class; use --classes ok,default for the other\n"
    for stream in ([], ["--stream"]):
        code, out, err = run("evaluate", path, "--metrics", "ece", *stream)
        assert (code, err, "positive class ok" in out) == (0, note, True)
        code, out, err = run("evaluate", path, "--metrics", "ece", "--classes", "ok,default", *stream)
        assert (code, err, "positive class default" in out) == (0, "", True)
    assert run("evaluate", path, "--metrics", "ece", "--probs", "p_ok,p_default")[2] == ""


def test_warnings_are_lines_in_the_words_of_the_command(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "hard.csv"
    path.write_text("label,prob\n" + "1,1\n0,0\n1,0\n" * 30)
    line = (
        "warning: --prob: every entry is exactly 0 or 1, so these look like predicted classes rather than probabilities; "
        "pass the output of predict_proba\n"
    )
    assert run("evaluate", path, "--stream", "--metrics", "ece")[2] == line
    assert run("select", path, "--accuracy", "0.5")[2] == line
    told = run("evaluate", path, "--metrics", "cox_slope")[2]
    assert "can dominate the fit" in told
    assert "np." not in told
