"""The docstring of every metric: signature, sections, formula, and an example whose printed value holds."""

import doctest
import inspect
import json
import pydoc
import re
import subprocess
import sys

import calibrant as cal
from calibrant.metrics import Metric, documentation
from tests.in_turn import in_turn

EVERY = list(cal.catalogue.values())
SECTIONS = ["Parameters", "Returns", "Raises", "Warns", "See Also", "Notes", "References", "Examples"]


@in_turn("metric", EVERY, lambda metric: metric.id)
class TestEveryMetric:
    def test_sections_are_complete_and_in_order(self, metric: Metric) -> None:
        assert re.findall(r"^([A-Z][A-Za-z ]+)\n-+$", metric.__doc__ or "", re.MULTILINE) == SECTIONS

    def test_signature_is_that_of_the_call(self, metric: Metric) -> None:
        head = " ".join((metric.__doc__ or "").split("\n\n")[0].split())
        names = list(inspect.signature(metric).parameters)
        assert head.startswith(f"{metric.id}(y_true, y_prob=None, *, ")
        assert all(re.search(rf"[( ]{name}[=,)]", head) for name in names)
        documented = re.findall(r"^(\w+) : ", (metric.__doc__ or "").split("\nReturns\n")[0], re.MULTILINE)
        assert documented == names

    def test_use_and_formula_are_stated(self, metric: Metric) -> None:
        text = documentation.formula_texts()[metric.id]
        assert text.use.endswith("."), "no paragraph on what is estimated and when to use it"
        assert ".. math::" in (metric.__doc__ or "")
        assert "$" not in (metric.__doc__ or "")
        assert metric.summary.endswith("."), "no sentence says what it measures"
        assert metric.summary in (metric.__doc__ or "")
        assert metric.reference in (metric.__doc__ or "")
        assert metric.info.strengths
        assert metric.info.limits

    def test_example_prints_its_value(self, metric: Metric) -> None:
        example = doctest.DocTestParser().get_doctest(metric.__doc__ or "", {}, metric.id, None, None)
        assert len(example.examples) >= 3
        runner = doctest.DocTestRunner(verbose=False)
        assert runner.run(example).failed == 0

    def test_types_of_options_are_stated(self, metric: Metric) -> None:
        for name, kind, text in documentation.parameters_of(metric):
            assert "Any" not in kind, (name, kind)
            assert text.endswith("."), name


def test_stored_values_are_those_of_the_catalogue() -> None:
    stored = json.loads((documentation.HERE / "examples.json").read_text(encoding="utf-8"))
    assert set(stored) == set(cal.catalogue)


def test_pydoc_shows_the_docstring_of_the_metric() -> None:
    shown = pydoc.plain(pydoc.render_doc(cal.ece))
    assert "ece(y_true, y_prob=None, *, bins=15" in shown
    assert "sample_weight : array-like of shape (N,), optional" in shown


def test_the_class_has_its_own_docstring_and_signature() -> None:
    assert (Metric.__doc__ or "").startswith("A calibration metric")
    assert "formula" in inspect.signature(Metric).parameters
    assert cal.ece.__doc__ is cal.ece.__doc__


def test_docstrings_are_built_on_request() -> None:
    code = (
        "import sys, calibrant as cal; cal.ece([0, 1], [0.2, 0.7]);"
        "print('calibrant.metrics.documentation' in sys.modules, '__doc__' in vars(cal.ece))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]
