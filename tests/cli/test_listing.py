"""``calibrant metrics``: names, use cases and properties."""

from __future__ import annotations

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]


def test_a_name_of_the_literature_is_described(run: Run) -> None:
    code, out, err = run("metrics", "Mix-n-Match")
    assert (code, err) == (0, "")
    assert out.startswith("skde: ")


def test_a_name_of_several_metrics_lists_them(run: Run) -> None:
    code, out, err = run("metrics", "area between curves")
    assert (code, out) == (2, "")
    assert "NAME: 'area between curves' is the name of 3 metrics" in err
    assert all(f"{id} (" in err for id in ("ece", "abc_above", "abc_below"))
