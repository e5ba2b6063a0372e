"""Output of a command makes room for itself: the progress bar goes before a line is printed."""

import pytest

from calibrant.cli import screen


def test_a_bar_is_hidden_before_anything_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden: list[str] = []
    monkeypatch.setattr(screen, "hide", lambda: hidden.append(capsys.readouterr().out))
    screen.print_lines(["first", "second"])
    assert hidden == ["", "first\n"]
    screen.print_table(["metric", "value"], [["ece", "0.1"]], range(1, 2))
    assert hidden[2] == "second\n"
