"""Distribution of the predicted probabilities: mean, median and upper percentiles, without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..curves.local_regression import weighted_quantile
from ..errors import UndefinedMetricError
from ..input.convert import column
from ..input.frames import column_names, positive_last
from ..input.predictions import Predictions
from ..util.results import Result, number
from ..views.keywords import documents_keywords
from ..views.resolve import as_predictions, views_of
from ..views.view import View

SHARES = (0.5, 0.9, 0.99)


class ScoreQuantiles(NamedTuple):
    """Mean, median, 90th and 99th percentile of one score."""

    mean: float
    median: float
    p90: float
    p99: float

    @property
    def text(self) -> str:
        """The three quantiles as text; a score just below 1 is not printed as 1."""
        quantiles = {"median": self.median, "p90": self.p90, "p99": self.p99}
        texts = {name: ">0.9999" if 0.99995 <= score < 1 else number(score) for name, score in quantiles.items()}
        return ", ".join(f"{name} {text}" for name, text in texts.items())


@dataclass(frozen=True, repr=False)
class ConfidenceDistribution(Result):
    """Mean and quantiles of the confidence and, for two classes, of the probability of the positive class.

    Returned by `confidence_summary`, and held by the header of an `Evaluation`.

    Parameters
    ----------
    n : int
        Number of rows.
    weight : float
        Sum of the weights; the number of rows without weights.
    top_label : ScoreQuantiles
        ``mean``, ``median``, ``p90`` and ``p99`` of the largest probability of each row.
    positive : ScoreQuantiles or None
        The same for the probability of the positive class of two; None for more classes, or where only confidences are known.

    See Also
    --------
    confidence_summary : Compute it.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.evaluation.confidence_summary([0.2, 0.4, 0.9]).positive.median
    0.4
    """

    _numeric = range(1, 5)

    n: int
    weight: float
    top_label: ScoreQuantiles
    positive: ScoreQuantiles | None = None

    def _rows(self) -> dict[str, ScoreQuantiles]:
        """Quantiles by lens."""
        return {"top_label": self.top_label} | ({} if self.positive is None else {"binary": self.positive})

    def _columns(self) -> dict[str, list[Any]]:
        rows = self._rows()
        found = {name: [getattr(each, name) for each in rows.values()] for name in ScoreQuantiles._fields}
        return {"lens": list(rows), **found}

    def _title(self) -> str:
        rows = f"{self.n:,} row{'' if self.n == 1 else 's'}"
        return rows if self.weight == self.n else f"{rows} (weight {self.weight:,.6g})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = {"top_label": "confidence (top label)", "binary": "probability of the positive class"}
        rows = [[names[lens], *map(number, each)] for lens, each in self._rows().items()]
        return ["", *ScoreQuantiles._fields], rows


@documents_keywords()
def confidence_summary(
    y_prob: Any, *, sample_weight: Any = None, input: Literal["prob", "logit", "confidence"] = "prob"
) -> ConfidenceDistribution:
    r"""Summarize the confidence of predictions by its mean, median, 90th and 99th percentile.

    The confidence of a row is its largest probability. For two classes the probability of the positive class is summarized as well.
    No labels are needed, so the summary can be followed over time: a sudden rise of the confidence can be an overconfident failure, a
    sudden fall can mean unfamiliar inputs. `calibrant.Monitor` tests such changes; the summary alone does not.

    Parameters
    ----------
    y_prob : array-like of shape (N,) or (N, K), frame or Predictions
        Predicted probabilities: of the positive class, or one column per class. Of two columns the second is the positive class, unless
        their names determine it, as for ``yes`` and ``no``.
    sample_weight
    input : {"prob", "logit", "confidence"}, default "prob"
        What `y_prob` holds: probabilities, logits, or the confidence of the predicted class. It is never inferred.

    Returns
    -------
    ConfidenceDistribution
        Result with the attributes ``top_label`` and ``positive``, each with ``mean``, ``median``, ``p90`` and ``p99``, and ``n`` and
        ``weight``.

    Raises
    ------
    InputError
        If the probabilities are not valid.
    UndefinedMetricError
        If the predictions are multilabel.

    See Also
    --------
    evaluate : The same in the header of an evaluation.
    calibrant.Monitor : Tests of changes of the confidence over time.

    Notes
    -----
    Quantiles are interpolated linearly between order statistics, as NumPy does by default (type 7 of Hyndman and Fan). With scores
    :math:`s_{(1)} \le \dots \le s_{(n)}` and :math:`h = (n - 1) q`,

    .. math:: Q(q) = s_{(\lfloor h \rfloor + 1)} + (h - \lfloor h \rfloor) \left(s_{(\lfloor h \rfloor + 2)} - s_{(\lfloor h \rfloor + 1)}\right).

    A count is that many equal rows. Importance weights are first scaled to sum to the effective sample size
    :math:`(\sum_i w_i)^2 / \sum_i w_i^2`, which is then rounded and takes the place of :math:`n`; :math:`s_{(r)}` is the first score up to
    which the scaled weights sum to :math:`r`. Equal weights thus have no effect, and rows of weight 0 are not counted. The median of an
    even number of rows lies between the two middle ones; ``torch.median`` returns the lower of them.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.evaluation.confidence_summary([0.7, 0.4, 0.7, 0.5, 0.6, 0.6, 0.5, 0.8])
    8 rows
                                         mean  median     p90     p99
    confidence (top label)             0.6250  0.6000  0.7300  0.7930
    probability of the positive class  0.6000  0.6000  0.7300  0.7930
    """
    if isinstance(y_prob, Predictions):
        return confidence_of(as_predictions(y_prob, None, sample_weight))
    scores = column(y_prob, "y_prob").array
    names = column_names(y_prob)
    if names is not None and positive_last(list(map(str, names)), "") != list(map(str, names)):
        scores = scores[:, ::-1]
    # Labels are required and not used.
    labels = np.full(scores.shape[: 1 if input == "confidence" else 2], 1 / max(scores.shape[1:] or (2,)))
    return confidence_of(Predictions.derived(labels, scores, soft=True, sample_weight=sample_weight, input=input))


def confidence_of(p: Predictions) -> ConfidenceDistribution:
    """Return the summary of checked predictions."""
    if p.kind == "multilabel":
        raise UndefinedMetricError("y_prob", "multilabel predictions have no top label", "pass one column at a time")
    lenses = ("top_label", "binary") if p.kind == "binary" else ("top_label",)
    views = [views_of(p, lens)[0] for lens in lenses]
    weight = float(p.n if p.weight is None else p.weight.sum())
    return ConfidenceDistribution(p.n, weight, *(score_quantiles(view) for view in views if isinstance(view, View)))


def score_quantiles(view: View) -> ScoreQuantiles:
    """Return mean and quantiles of the scores of a view."""
    score, mass = view.ties.score, view.ties.weight * (view.effective_size / view.total)
    quantiles = weighted_quantile(np.asarray(score, np.float64), mass, SHARES)
    return ScoreQuantiles(view.mean(view.score), *quantiles.tolist())
