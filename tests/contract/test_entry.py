"""The entry of the catalogue: signature, documentation, plain values, threads, and keywords nobody knows."""

import inspect
import json
import math
from concurrent.futures import ThreadPoolExecutor

import pytest

import calibrant
from calibrant import Predictions
from calibrant.errors import InputTypeError, LensError, UnknownArgumentError
from calibrant.metrics import Metric
from tests.calling import call

from .problems import PROBLEMS, TIED, clean_value, every_metric, every_metric_in_turn, value

DATA_KEYWORDS = [word for word in inspect.signature(Predictions).parameters if word not in ("y_true", "y_prob")]


@every_metric_in_turn
def test_the_signature_names_everything(metric: Metric) -> None:
    signature = inspect.signature(metric)
    names = list(signature.parameters)
    assert names[:2] == ["y_true", "y_prob"]
    assert set(metric.options) <= set(names)
    assert names[2:] == [*metric.options, "lens", "where", "sample_weight", "pos_label"]
    for word, default in metric.options.items():
        assert signature.parameters[word].default == default
    assert signature.parameters["lens"].default == metric.lens
    assert all(
        parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in list(signature.parameters.values())[2:]
    )


@every_metric_in_turn
def test_options_do_not_hide_what_describes_the_data(metric: Metric) -> None:
    """An option called like a keyword of Predictions would be taken for it."""
    assert not set(metric.options) & {"y_true", "y_prob", "lens", "where", "combine", *DATA_KEYWORDS}


@every_metric_in_turn
def test_the_defaults_may_be_spelt_out(metric: Metric) -> None:
    problem = PROBLEMS["binary"][TIED]
    spelt = {word: default for word, default in metric.options.items() if word != "rng"}
    assert value(metric, problem, **spelt, lens=metric.lens) == clean_value(metric, problem)


@every_metric_in_turn
def test_the_facts_are_consistent(metric: Metric) -> None:
    low, high = metric.range
    assert low < high
    if metric.ideal is not None:
        assert low <= metric.ideal <= high
    if metric.info.signed:
        assert metric.ideal is not None
        assert low < metric.ideal < high, "a signed metric has room on both sides of its ideal"
    assert metric.takes in ("View", "VectorView", "Block")
    assert set(metric.needs) <= {"labels", "predicted", "groups", "features"}
    assert metric.base is None or metric.base in calibrant.catalogue
    assert not (metric.info.order_dependent and metric.counts), "rows in an order cannot stand for several"
    assert metric.info.deterministic or "rng" in metric.options, "a metric that draws takes rng="


@every_metric_in_turn
def test_the_entry_is_plain_values(metric: Metric) -> None:
    entry = metric.to_dict()
    assert entry["id"] == metric.id
    again = json.loads(json.dumps(entry))
    assert again.keys() == entry.keys()
    for field, plain in entry.items():
        assert again[field] == (list(plain) if isinstance(plain, tuple) else plain), field
    assert not any(isinstance(number, float) and math.isnan(number) for number in entry["range"])


@every_metric_in_turn
def test_names_and_aliases_find_it(metric: Metric) -> None:
    assert calibrant.catalogue[metric.id] is metric
    assert getattr(calibrant, metric.id) is metric
    assert metric.id.isidentifier()
    assert not metric.id.startswith("test")
    for alias in (metric.name, *metric.info.names):
        try:
            found = calibrant.catalogue[alias].id
        except calibrant.errors.AmbiguousMetricError as error:
            found = str(error)  # an alias of several metrics lists them all
        assert metric.id in found


@pytest.mark.sampled
@every_metric
def test_threads_get_the_same_bits(metric: Metric, deep: bool) -> None:
    """Eight threads, many calls each; half of them share Predictions, whose sorted order and sums are made on demand."""
    calls = 25 if deep else 5
    drawn = {"rng": 0} if "rng" in metric.options else {}
    problem = PROBLEMS["three"][TIED].take(slice(0, 40))
    try:
        wanted = value(metric, problem)
    except LensError:
        problem = PROBLEMS["binary"][TIED].take(slice(0, 40))
        wanted = value(metric, problem)
    shared = [Predictions(problem.y, problem.p, **problem.needed(metric)) for _ in range(calls)]

    def work(_: int) -> set[float]:
        found = {call(metric, predictions, **drawn) for predictions in shared}
        return found | {value(metric, problem) for _ in range(calls)}

    with ThreadPoolExecutor(8) as pool:
        assert set().union(*pool.map(work, range(8))) == {wanted}


@every_metric_in_turn
def test_a_misspelt_keyword_is_refused(metric: Metric) -> None:
    problem = PROBLEMS["binary"][0]
    for word, meant in {"sampel_weight": "sample_weight", "lense": "lens", "weights": "sample_weight"}.items():
        with pytest.raises(UnknownArgumentError) as caught:
            value(metric, problem, **{word: None})
        assert caught.value.argument == word
        assert meant in str(caught.value)
    for option, default in metric.options.items():
        with pytest.raises(UnknownArgumentError):
            value(metric, problem, **{f"{option}_": default})
    with pytest.raises(UnknownArgumentError):
        metric.of(Predictions(problem.y, problem.p), nonsense=1)


@every_metric_in_turn
def test_what_is_needed_is_asked_for(metric: Metric) -> None:
    problem = PROBLEMS["binary"][0]
    needed = problem.needed(metric)
    for word in needed:
        rest = {other: array for other, array in problem.words(metric).items() if other != word}
        with pytest.raises(InputTypeError) as caught:
            call(metric, problem.y, problem.p, **rest)
        assert caught.value.argument == word
    # What is not needed may be given all the same, and changes nothing.
    spare = {"groups": problem.groups, "features": problem.features}
    assert value(metric, problem, **spare) == clean_value(metric, problem)
