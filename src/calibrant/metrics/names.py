"""Names of metrics: when two spellings are the same name, and which metrics an unknown name may mean."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .registry import Metric

# Abbreviations that names are composed of; a name that is an abbreviation as a whole is an alias of its metric.
ABBREVIATIONS = {
    "ace": "adaptive calibration error",
    "bs": "brier score",
    "ce": "calibration error",
    "ece": "expected calibration error",
    "ice": "interval calibration error",
    "kde": "kernel density estimator",
    "knn": "nearest neighbour",
    "ks": "kolmogorov smirnov",
    "mmce": "maximum mean calibration error",
    "pe": "plug-in estimator",
    "rmsce": "root mean squared calibration error",
    "skce": "squared kernel calibration error",
}
# Words that do not distinguish two names.
FILLERS = frozenset(re.findall(r"\w+", "a an and by for from in is k metric of on over the to version with"))
# Compounds that are written in one word, with a hyphen, or in two words.
COMPOUNDS = re.compile(
    r"\b(class|multi|plug|over|under)[-\s]+(wise|in|class|calibration|view|confiden\w+|estimat\w+)\b"
)
# One stem for the forms of a word that names use side by side.
ENDINGS = (
    (r"^bin(?:s|ned|ning)$", "bin"),
    (r"^smirnoff$", "smirnov"),
    (r"^(debias|smooth|square|bia|weight|threshold|fit|partition)e?(?:d|s|t?ed|t?ing)$", r"\1"),
    (r"is(ed|e|ation|ing)$", r"iz\1"),
    (r"our(s?)$", r"or\1"),
    (r"(?<=[a-rt-z]{3})s$", ""),
)
# Words of a question and the words that entries use for the same idea.
RELATED_WORDS = (
    "smooth kernel loess continuous bandwidth",
    "debias unbias bias corrected adjusted",
    "classwise class marginal",
    "top confidence predicted winning",
    "maximum max worst largest supremum",
    "sign direction overconfidence underconfidence overconfident underconfident",
    "group feature local subgroup subpopulation region fairness field",
    "log logarithmic entropy entropic likelihood",
    "square quadratic l2",
    "mass quantile percentile frequency adaptive",
    "histogram bin",
    "cumulative kolmogorov smirnov kuiper path",
    "multiclass simplex canonical joint distribution",
    "differentiable soft gradient",
    "logit odd logistic",
    "neighbor nearest proximity",
)
# Names of the literature for what a function of calibrant computes, rather than a metric of it.
FUNCTIONS = {
    "auroc": ("AUC", "AUROC", "ROC AUC", "area under the ROC curve", "c-statistic", "concordance"),
    "average_precision": ("AUPRC", "PR AUC", "average precision"),
    "calibration_curve": ("calibration curve", "calibration map"),
    "cumulative_diagram": ("cumulative difference plot", "CDP"),
    "aurc": ("AURC", "area under the risk-coverage curve"),
    "grouping_loss": ("grouping loss",),
    "likert_error": ("Likert error",),
    "nees": ("NEES", "ANEES", "normalised estimation error squared"),
    "decompose": (
        "reliability",
        "resolution",
        "sharpness",
        "refinement",
        "validity",
        "calibration loss",
        "refinement loss",
    ),
    "reliability": ("reliability diagram", "reliability plot", "reliability curve", "tilted-roof reliability diagram"),
    "skill_score": ("skill score", "Brier skill score", "BSS"),
}
# Names of the literature for a metric with an option. Word order does not distinguish names, and here it would.
WITH_OPTION = {
    ("expected_observed_ratio", "form='observed_expected'"): (
        "OE",
        "O/E",
        "O:E",
        "O/E ratio",
        "observed expected",
        "observed expected ratio",
        "observed to expected",
        "observed over expected",
        "observed to expected ratio",
        "observed over expected ratio",
        "ratio of observed to expected",
        "observed/expected",
        "standardised mortality ratio",
        "SMR",
    ),
}
# Weights of a word in the names of a metric, in its summary and family, and in the rest of its entry; and of a related word.
IN_NAME, IN_SUMMARY, IN_TEXT, RELATED = 1.0, 0.6, 0.3, 0.6
# An entry must explain this fraction of a name, and as much of it as the best entry up to this factor.
EXPLAINED, OF_BEST = 0.4, 0.7
NEAREST = 3


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """The letters and digits of a name, without accents and in lower case."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", name).lower() if sign.isalnum())


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """The words of a text that distinguish it: stems, with abbreviations spelled out and without fillers."""
    return frozenset(_listed(text))


def _listed(text: str) -> list[str]:
    text = unicodedata.normalize("NFKD", text).lower().replace("\u2019", "'")
    text = COMPOUNDS.sub(r"\1\2", re.sub(r"'s\b", "", text))
    found = []
    for word in re.findall(r"[a-z]+[0-9]*|[0-9]+", text):
        for part in re.findall(r"\w+", ABBREVIATIONS.get(word, word).replace("plug-in", "plugin")):
            for ending, stem in ENDINGS:
                part = re.sub(ending, stem, part)
            if part not in FILLERS:
                found.append(part)
    return found


@lru_cache(maxsize=4096)
def _phrase(name: str) -> frozenset[str] | tuple[str, ...]:
    """The words of a name: in any order, but for two, as a calibration test is not the test for calibration (T-Cal)."""
    words = words_of(name)
    return words if len(words) > 2 else tuple(_listed(name))


def named(name: str, metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics with this name: by letters and digits, or else by words."""
    metrics = list(metrics)
    wanted, phrase = plain(name), _phrase(name)
    exact = [m for m in metrics if any(plain(one) == wanted for one in (m.id, m.name, *m.info.names))]
    if exact or not phrase:
        return exact
    return [m for m in metrics if any(_phrase(one) == phrase for one in (m.name, *m.info.names))]


def function_named(name: str) -> str | None:
    """The function that computes what has this name, if it is not a metric."""
    wanted = plain(name)
    return next((function for function, names in FUNCTIONS.items() if wanted in map(plain, names)), None)


def metric_with_option(name: str) -> tuple[str, str] | None:
    """The metric and the option that compute what has this name, if an option is needed."""
    wanted = plain(name)
    return next((call for call, names in WITH_OPTION.items() if wanted in map(plain, names)), None)


def nearest(name: str, metrics: Iterable[Metric]) -> list[str]:
    """Identifiers of metrics that an unknown name may mean, the nearest first: by its words, or else by its letters."""
    found = {m.id: m for m in metrics}
    entries = {id: _weights(m) for id, m in found.items()}
    spelled = {plain(one): id for id, m in found.items() for one in (*m.info.names, m.name)}
    ids = {plain(id): id for id in found}
    known = {word for weights in entries.values() for word in weights}
    alike: list[str] = []
    if not words_of(name) <= known:  # perhaps a slip of letters
        alike += [(spelled | ids)[match] for match in get_close_matches(plain(name), spelled | ids, NEAREST, 0.85)]
    if not words_of(name) & known:
        close = [ids[match] for match in get_close_matches(plain(name), ids, NEAREST, 0.65)]
        alike += sorted(close, key=lambda near: not found[near].info.recommended)
    # Among entries that explain as much: for several words those with the nearest name, then those recommended.
    phrase = len(words_of(name)) > 1
    near = {id: -round(_overlap(name, found[id]), 3) for id in found}
    meant = sorted(
        _by_words(name, entries).items(),
        key=lambda pair: (
            -round(pair[1], 3),
            near[pair[0]] if phrase else 0,
            not found[pair[0]].info.recommended,
            near[pair[0]],
            sum(weight == IN_NAME for weight in entries[pair[0]].values()),
        ),
    )
    return list(dict.fromkeys((*alike, *(id for id, _ in meant))))[:NEAREST]


def _overlap(name: str, metric: Metric) -> float:
    """The largest share of common words among the words of a name and of one name of the metric."""
    asked = words_of(name)
    return max(len(asked & own) / len(asked | own) for own in map(words_of, (metric.name, *metric.info.names)) if own)


def _weights(metric: Metric) -> dict[str, float]:
    """The words of an entry with their weights."""
    from .documentation import formula_texts

    text = formula_texts().get(metric.id)
    formula = "" if text is None else f"{text.use} {text.formula} {text.remarks}"
    weights: dict[str, float] = {}
    for part, weight in (
        (f"{metric.info.strengths} {metric.info.notes} {formula}", IN_TEXT),
        (f"{metric.summary} {metric.info.family} {metric.info.subfamily}", IN_SUMMARY),
        (f"{metric.id.replace('_', ' ')} {metric.name} {' '.join(metric.info.names)}", IN_NAME),
    ):
        weights |= dict.fromkeys(words_of(part), weight)
    return weights


def _by_words(name: str, entries: dict[str, dict[str, float]]) -> dict[str, float]:
    """The entries that explain enough of a name by its words, each with the fraction that it explains."""
    counts = Counter(word for weights in entries.values() for word in weights)
    rarity = {word: math.log(1 + len(entries) / count) for word, count in counts.items()}
    asked = []
    for word in words_of(name):
        related = {other for group in map(str.split, RELATED_WORDS) if word in group for other in group} - {word}
        if word not in rarity and not related and len(word) > 3:
            word = next(iter(get_close_matches(word, rarity, 1, 0.75)), word)
        # A word that no entry has is as rare as one that a single entry has.
        asked.append((word, related, rarity.get(word, math.log(1 + len(entries)))))
    whole = sum(rare for *_, rare in asked)
    if not whole:
        return {}

    def explained(weights: dict[str, float]) -> float:
        found = 0.0
        for word, related, rare in asked:
            near = max((weights.get(other, 0.0) for other in related), default=0.0)
            found += rare * max(weights.get(word, 0.0), RELATED * near)
        return found / whole

    scores = {id: explained(weights) for id, weights in entries.items()}
    best = max(scores.values())
    return {id: score for id, score in scores.items() if score >= max(EXPLAINED, OF_BEST * best)}
