"""The interventions run in their small form, strengths follow the rule, folders of images load, and the page says what was found."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
import torch
from matplotlib import image

import calibrant as cal
from experiments.interventions import images, measure, plan, run, summary, tables, train

ROOT = Path(__file__).parents[2]

CONFIG = ROOT / "experiments" / "interventions" / "digits.toml"
MODELS = [
    "base network",
    "label smoothing",
    "mixup",
    "focal loss",
    "temperature",
    "bias-corrected temperature",
    "histogram binning",
    "smoothing + temperature",
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads wait longer for each other than networks this small need."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("interventions") / "small.json"
    run.main(["--small", "--out", str(out)])
    return json.loads(out.read_text())


def test_everything_is_trained_and_measured(small: dict[str, Any]) -> None:
    assert list(small["measured"]) == MODELS
    assert small["rows"] == {"train": 300, "validation": 300, "test": 1197}
    for name in MODELS:
        (found,) = small["measured"][name]
        assert 0.2 < found["accuracy"] <= 1
        assert 0 <= found["ece"] <= 1
        assert found["top_k_accuracy"][-1] == 1
        assert found["top_k_accuracy"] == sorted(found["top_k_accuracy"])
        assert sum(found["intervals"]["rows"]) == 1197
        assert sum(found["group_rows"]) == 1197
        assert sum(found["group_confidence"]) == pytest.approx(1, abs=1e-5)
        assert found["levels"][-1] == found["full"]
        assert found["accuracy"] == found["top_k_accuracy"][0]


def test_a_temperature_leaves_accuracy_alone(small: dict[str, Any]) -> None:
    measured = small["measured"]
    for before, after in (("base network", "temperature"), ("label smoothing", "smoothing + temperature")):
        assert measured[before][0]["top_k_accuracy"] == measured[after][0]["top_k_accuracy"]
        assert measured[before][0]["ece"] != measured[after][0]["ece"]


def test_one_strength_of_each_is_chosen(small: dict[str, Any]) -> None:
    for tried in small["choices"].values():
        assert [one["chosen"] for one in tried].count(True) == 1


def test_the_rule_of_choice() -> None:
    tried = [(0.1, 0.90, 0.05), (0.2, 0.86, 0.03), (0.3, 0.80, 0.01)]
    assert train.taken(train.choose(tried, 0.9, 0.05)) == 0.2
    assert train.taken(train.choose(tried, 0.9, 0.1)) == 0.3
    assert train.taken(train.choose(tried, 0.95, 0.05)) == 0.1
    assert train.taken(train.choose(tried, 1.0, 0.05)) == 0.1, "nothing is allowed: the most accurate"


def test_losses_are_those_named() -> None:
    net = torch.nn.Linear(4, 3)
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(6, 4, generator=draw), torch.tensor([0, 1, 2, 0, 1, 2])
    logs = torch.log_softmax(net(x), 1)
    own = logs[torch.arange(6), y]
    plain = train.loss_of("base network", None, 0)(net, x, y)
    assert plain.item() == pytest.approx(-own.mean().item(), rel=1e-5)
    smoothed = train.loss_of("label smoothing", 0.3, 0)(net, x, y)
    assert smoothed.item() == pytest.approx(-(0.7 * own + 0.1 * logs.sum(1)).mean().item(), rel=1e-5)
    focal = train.loss_of("focal loss", 2.0, 0)(net, x, y)
    assert focal.item() == pytest.approx(-((1 - own.exp()) ** 2 * own).mean().item(), rel=1e-5)
    power = torch.where(own.exp() < 0.2, 5.0, 3.0)
    flsd = train.loss_of("focal loss", "flsd", 0)(net, x, y)
    assert flsd.item() == pytest.approx(-((1 - own.exp()) ** power * own).mean().item(), rel=1e-5)
    first, again = (train.loss_of("mixup", 1.0, seed)(net, x, y).item() for seed in (3, 3))
    assert first == again != plain.item()


def test_training_repeats_itself_and_leaves_the_random_state() -> None:
    short = plan.read_plan(CONFIG).smaller()
    rows = images.split(images.digits(), 0, short.data)
    settings = {"rate": 0.003, "weight_decay": 0.0, "device": "cpu"}
    before = torch.get_rng_state()
    one, two = (train.trial("mixup", 0.4, rows, 10, short, 0, settings) for _ in range(2))
    other = train.trial("mixup", 0.4, rows, 10, short, 1, settings)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(one.test.scores, two.test.scores)
    assert not np.array_equal(one.test.scores, other.test.scores)


def test_rows_for_the_test_are_never_trained_on() -> None:
    pictures = images.digits()
    data = {"train": 300, "validation": 300}
    splits = [images.split(pictures, seed, data) for seed in (0, 1)]
    keys = [[{row.numpy().tobytes() for row in part[0]} for part in one] for one in splits]
    same = {row.numpy().tobytes() for row in pictures.x}
    assert len(same) == len(pictures.x), "no two digits are alike, so rows may be told by their pixels"
    for training, validation, test in keys:
        assert not training & validation
        assert not (training | validation) & test
        assert len(training) + len(validation) + len(test) == 1797
    assert keys[0][2] == keys[1][2]
    assert keys[0][0] != keys[1][0]
    with pytest.raises(ValueError, match="some must be left to test"):
        images.split(pictures, 0, {"train": 1000, "validation": 797})


def test_intervals_by_hand() -> None:
    """Rates of bins against an interval, and rows, by plain loops."""
    draw = np.random.default_rng(0)
    probs = draw.dirichlet(np.ones(10), 400)
    labels = draw.integers(0, 10, 400)
    settings = plan.read_plan(CONFIG)
    found = measure.by_interval(cal.Predictions(labels, probs), settings)
    score, outcome = probs[:, [0, 6, 8, 9]].sum(1), np.isin(labels, [0, 6, 8, 9])
    for place, (low, high) in enumerate([(0, 0.33), (0.33, 0.66), (0.66, 1)]):
        held = (score >= low) & (score < high)
        total = 0.0
        for bin_ in range(15):
            inside = held & (score > bin_ / 15) & (score <= (bin_ + 1) / 15)
            if inside.any():
                rate = outcome[inside].mean()
                total += inside.sum() / held.sum() * max(0, low - rate, rate - high)
        assert found["rows"][place] == held.sum()
        assert found["outside"][place] == pytest.approx(total, abs=1e-12)


def test_by_chance_is_small_and_not_zero() -> None:
    probs = np.random.default_rng(1).dirichlet(np.ones(10), 2000)
    found = measure.by_chance(cal.Predictions(np.zeros(2000, int), probs), plan.read_plan(CONFIG).smaller())
    assert 0 < found["ece"] < 0.05
    assert 0 < found["full"] < 0.2


def test_ties_are_cut() -> None:
    """Of forecasts with mostly zeros all say 0.9 and are always right; errors must not cancel over classes."""
    draw = np.random.default_rng(0)
    likely = draw.integers(0, 10, 1000)
    probs = np.zeros((1000, 10))
    probs[np.arange(1000), likely] = 0.9
    probs[np.arange(1000), (likely + 1) % 10] = 0.1
    apart = measure.untied(cal.Predictions(likely, probs))
    assert np.abs(np.asarray(apart.probs) - probs).max() < 1e-8
    assert (apart.predicted == likely).all()
    assert 0.05 < cal.gece(apart, lens="canonical") < 0.1 + 1e-8


def test_a_folder_of_images(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    for label, name in enumerate(["ant", "bee", "cat"]):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(20):
            pixels = 0.4 * draw.random((10 + number % 3, 12, 3 if number % 2 else 4))
            # One in four looks like the next class: what can be told apart perfectly has no best temperature.
            pixels[:, :, (label + (number % 4 == 0)) % 3] += 0.5
            image.imsave(tmp_path / "photos" / name / f"{number}.png", pixels)
    found = images.folder(tmp_path / "photos", side=8)
    assert found.x.shape == (60, 3, 8, 8)
    assert found.names == ("ant", "bee", "cat")
    assert found.y.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    assert 0 <= found.x.min() < found.x.max() <= 1
    assert images.folder(tmp_path / "photos", side=8, grey=True).x.shape == (60, 1, 8, 8)
    config = tmp_path / "photos.toml"
    text = CONFIG.read_text().split("[intervals]")[0].replace("train = 300", "train = 15")
    text = text.replace("validation = 300", "validation = 25").replace('kind = "mlp"', 'kind = "cnn"')
    text = (
        text.replace("batch = 50", "batch = 5")
        .replace("rates = [0.001", "rates = [0.01")
        .replace("noise = 0.25", "noise = 0.0")
    )
    config.write_text(text + '[hierarchy]\nnames = ["kind"]\nlevel = 1\ngiven = "insect"\n'
                      '[hierarchy.groups]\ninsect = ["ant", "bee"]\nmammal = ["cat"]\n')  # fmt: skip
    out = tmp_path / "photos.json"
    run.main(
        ["--images", str(tmp_path / "photos"), "--side", "8", "--config", str(config), "--small", "--out", str(out)]
    )
    results = json.loads(out.read_text())
    assert results["plan"]["hierarchy"]["groups"] == {"insect": [0, 1], "mammal": [2]}
    assert list(results["measured"]) == MODELS
    assert len(results["measured"]["mixup"][0]["top_k"]) == 3
    assert "intervals" not in results["measured"]["mixup"][0]
    with pytest.raises(SystemExit):
        run.main(["--page", "--out", str(out), "--docs", str(tmp_path)])
    with pytest.raises(SystemExit):
        run.main(["--images", str(tmp_path / "photos")])
    assert not (tmp_path / "interventions.md").exists()


def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two classes or more; found 0"):
        images.folder(tmp_path / "nowhere")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match="holds no image"):
        images.folder(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name / "x.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"x\.png: cannot be read as an image"):
        images.folder(tmp_path)


def test_what_is_wrong_with_a_plan_is_said(tmp_path: Path) -> None:
    text = CONFIG.read_text()
    for old, new, message in (
        ("[data]", "[datum]", r"unknown section \[datum\]"),
        ("most_loss", "least_loss", r"\[tuning\] needs 'most_loss'"),
        ('"mlp"', '"rnn"', "must be 'mlp' or 'cnn'; got 'rnn'"),
    ):
        (tmp_path / "bad.toml").write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=message):
            plan.read_plan(tmp_path / "bad.toml")
    with pytest.raises(ValueError, match="there is no class 'dog'"):
        plan.numbered({"pets": ["cat", "dog"]}, ("cat",))


def test_a_change_is_judged_by_the_differences() -> None:
    base = [0.10, 0.20, 0.30, 0.40, 0.50]
    assert summary.change(base, [x - 0.01 - 0.001 * i for i, x in enumerate(base)]) == -1
    assert summary.change(base, [x + 0.01 + 0.001 * i for i, x in enumerate(base)]) == 1
    assert summary.change(base, [0.11, 0.19, 0.31, 0.39, 0.50]) == 0
    assert summary.change(base[:1], [0.9]) == 0
    assert summary.change(base, [math.inf, *base[1:]]) == 1
    scipy = pytest.importorskip("scipy.stats")
    for degrees, point in enumerate(summary.STUDENT, 1):
        assert point == pytest.approx(scipy.t.ppf(0.975, degrees), abs=5e-4)


def test_numbers_in_words() -> None:
    assert summary.in_words([0.5]) == "0.500"
    assert summary.in_words([-1e-5, 1e-6], 3) == "0.000 ± 0.000"
    assert summary.in_words([1.0, math.inf]) == "infinite (1 of 2)"
    assert summary.in_words([math.nan]) == "no rows"


def test_means_leave_out_seeds_without_a_value() -> None:
    values = np.array([[1.0, math.nan, math.nan], [3.0, 5.0, math.nan]])
    assert summary.mean(values)[:2].tolist() == [2.0, 5.0]
    assert math.isnan(summary.mean(values)[2])
    assert summary.spread(values).tolist() == [pytest.approx(2**0.5), 0.0, 0.0]


def test_the_page_holds_what_was_found() -> None:
    """The page is made of results.json, whose plan is that of the configuration."""
    results = json.loads(run.RESULTS.read_text(encoding="utf-8"))
    assert (run.DOCS / "interventions.md").read_text(encoding="utf-8") == tables.page(results)
    wanted = plan.read_plan(CONFIG).with_classes(images.digits().names)
    assert results["plan"] == run.plainly(vars(wanted))
    assert list(results["measured"]) == MODELS
    assert {len(seeds) for seeds in results["measured"].values()} == {5}
    accuracy = [seed["accuracy"] for seed in results["measured"]["mixup"]]
    cell = f"| mixup | {statistics.fmean(accuracy):.4f} ± {statistics.stdev(accuracy):.4f}"
    assert cell in tables.page(results)


def test_the_reading_is_what_the_numbers_say() -> None:
    """Each claim of the page's words."""
    results = json.loads(run.RESULTS.read_text(encoding="utf-8"))
    base, others = MODELS[0], MODELS[1:]

    def changed(model: str, key: str, *places: Any) -> int:
        return summary.change(summary.number(results, base, key, *places), summary.number(results, model, key, *places))

    def mean(model: str, key: str, *places: Any) -> float:
        return statistics.fmean(summary.number(results, model, key, *places))

    def rest(model: str, key: str) -> float:
        return statistics.fmean(summary.beyond_chance(results, model, key))

    for model in others:
        assert changed(model, "ece") == -1
        assert abs(rest(model, "ece")) < 0.01
        assert changed(model, "full") != -1
        assert mean(model, "chance", "full") > mean(base, "chance", "full")
        assert rest(model, "full") < rest(base, "full")
        assert changed(model, "accuracy") == 0
        falls = [changed(model, "top_k", place) == -1 for place in range(10)]
        assert all(falls) == (model != "histogram binning")
    left = {model: summary.beyond_chance(results, model, "full") for model in MODELS}
    assert [summary.change(left[base], left[model]) for model in others].count(-1) == 4
    assert min(MODELS, key=lambda model: mean(model, "nll")) == "temperature"
    assert mean("temperature", "confidence") < mean("temperature", "accuracy")
    binned = "histogram binning"
    assert math.isinf(mean(binned, "nll"))
    assert changed(binned, "top_k_accuracy", 1) == changed(binned, "top_k_accuracy", 2) == -1
    assert mean(binned, "top_k", 2) > 1.3 * mean(binned, "top_k", 0)
    strongest, plain = results["choices"]["label smoothing"][-1], results["choices"][base]
    chosen = next(one for one in plain if one["chosen"])
    assert strongest["strength"] == 0.2
    assert strongest["ece"] > 2 * chosen["ece"]
    assert strongest["accuracy"] >= chosen["accuracy"]
    risen = [changed(model, "groups", place) for model in others for place in range(3)]
    assert risen.count(1) > len(risen) / 2
    assert -1 not in risen


def test_the_figures_are_there_and_light() -> None:
    files = sorted((run.DOCS / "interventions").glob("*.png"))
    names = [file.stem for file in files]
    assert names == ["entropy", "group_confidence", "groups", "intervals", "stability", "top_k"]
    assert sum(file.stat().st_size for file in files) < 600_000
    text = (run.DOCS / "interventions.md").read_text(encoding="utf-8")
    assert all(f"](interventions/{name}.png)" in text for name in names)


@pytest.mark.deep
def test_a_page_of_one_seed_can_be_drawn(small: dict[str, Any], tmp_path: Path) -> None:
    run.write_page(small, tmp_path)
    assert len(list((tmp_path / "interventions").glob("*.png"))) == 6
