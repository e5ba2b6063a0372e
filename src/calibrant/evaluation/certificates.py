"""`certify`: an upper bound of the calibration error that holds at any number of rows, for all rows and each group at once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, FileError, LensError
from ..inference.error_bounds import bound_binned_error, bound_true_error
from ..inference.fitted import refuse_importance
from ..inference.significance import single_view
from ..input.grouping import groups_of
from ..input.predictions import Predictions
from ..recalibration.scores import fingerprint
from ..util.checks import check_choice, check_fraction, check_number, check_whole
from ..util.results import Result, number
from ..util.version import __version__
from ..views.keywords import documents_keywords
from ..views.lenses import Lens
from ..views.resolve import as_predictions
from ..views.view import VectorView

Assumption = Literal["monotone", "variation", "levels", "none"]
ALL_ROWS = "all rows"


@dataclass(frozen=True)
class CertifiedError:
    """The bound for all rows or one group: its name and number of rows, the bound, and the binned error of these rows."""

    group: str
    n: int
    bound: float
    estimate: float
    bins: int


@dataclass(frozen=True, repr=False)
class Certificate(Result):
    """Upper bounds of the calibration error.

    Parameters
    ----------
    bounds : tuple of CertifiedError
        The bound for all rows, and for each group; ``certificate["all rows"]`` returns one.
    level : float
        Probability with which all bounds hold jointly, at least.
    assuming : {"monotone", "variation", "levels", "none"}
        What is assumed of the calibration curve.
    variation : float or None
        Largest total variation of the calibration curve, for ``"variation"``.
    bins : int or None
        Number of bins of equal width, for ``"none"``.
    lens : str
        The event that was evaluated.
    fingerprint : str
        Hash of labels, scores and weights.
    versions : dict of str to str
        Versions of calibrant and NumPy.
    """

    _numeric = range(1, 5)

    bounds: tuple[CertifiedError, ...]
    level: float
    assuming: str
    variation: float | None
    bins: int | None
    lens: str
    fingerprint: str
    versions: Mapping[str, str]

    def __getitem__(self, group: str) -> CertifiedError:
        for each in self.bounds:
            if each.group == group:
                return each
        known = ", ".join(each.group for each in self.bounds[:20])
        raise ArgumentError("group", f"unknown group {group!r}", f"the groups are {known}")

    @property
    def bound(self) -> float:
        """The bound for all rows."""
        return self.bounds[0].bound

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the bounds, as sentences."""
        curve = {
            "monotone": ("The calibration curve, the probability of the event at each score, is non-decreasing.",),
            "variation": (f"The total variation of the calibration curve is at most {number(self.variation)}.",),
        }
        return ("The rows are independent, and from the population about which the bounds are.", *curve.get(self.assuming, ()))

    @property
    def statement(self) -> str:
        """What is certified, in one sentence."""
        what = f"error over {self.bins} bins of equal width" if self.assuming == "none" else "calibration error"
        error = (
            "E|P(Y = 1 | bin) - mean score of the bin|" if self.assuming == "none" else "E|P(Y = 1 | score) - score|"
        )
        where = "" if len(self.bounds) == 1 else " for all rows, and the stated bounds hold for every group"
        return (
            f"With probability at least {100 * self.level:g}%, the {what} {error} of the population is at most "
            f"{number(self.bound)}{where}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that JSON can represent.

        Returns
        -------
        dict
            The fields, the ``statement`` and the ``assumptions``.
        """
        return {"statement": self.statement, "assumptions": list(self.assumptions), **super().to_dict()}

    def check(self, y_true: Any, y_prob: Any = None) -> tuple[str, ...]:
        """Verify the certificate against data: compute it again, and compare.

        Parameters
        ----------
        y_true : array-like of shape (N,) or Predictions
            The labels, or the predictions with their groups.
        y_prob : array-like, optional
            The predicted probabilities.

        Returns
        -------
        tuple of str
            What differs, one sentence each; empty if the certificate is confirmed.
        """
        options = {name: getattr(self, name) for name in ("level", "assuming", "variation", "lens")}
        other = certify(y_true, y_prob, bins=self.bins or 15, **options)
        if other.fingerprint != self.fingerprint:
            return ("The data have another fingerprint: labels, scores or weights are not those that were certified.",)
        if [each.group for each in other.bounds] != [each.group for each in self.bounds]:
            certified, present = (", ".join(e.group for e in part.bounds[1:]) or "none" for part in (self, other))
            return (f"The groups differ: those of the certificate are {certified}, those of the data {present}.",)
        differences = []
        for stated, repeated in zip(self.bounds, other.bounds, strict=True):
            own, again = ((each.bound, each.estimate) for each in (stated, repeated))
            if repeated.n != stated.n or not np.allclose(own, again, rtol=1e-6, atol=1e-9):
                differences.append(
                    f"{stated.group}: the certificate states {number(stated.bound)} for {stated.n:,} rows (estimate "
                    f"{number(stated.estimate)}), the data give {number(repeated.bound)} for {repeated.n:,} ({number(repeated.estimate)})."
                )
        return tuple(differences)

    def _columns(self) -> dict[str, list[Any]]:
        names = CertifiedError.__dataclass_fields__
        return {name: [getattr(each, name) for each in self.bounds] for name in names}

    def _title(self) -> str:
        return "\n".join([self.statement, *(f"  assumed: {each}" for each in self.assumptions)])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[e.group, f"{e.n:,}", number(e.bound), number(e.estimate), str(e.bins)] for e in self.bounds]
        return ["group", "rows", "bound", "estimate", "bins"], rows

    def _notes(self) -> list[str]:
        return [f"  data {self.fingerprint}, calibrant {self.versions.get('calibrant', '')}"]


@documents_keywords()
def certify(
    y_true: Any,
    y_prob: Any = None,
    *,
    level: float = 0.95,
    assuming: Assumption = "monotone",
    variation: float | None = None,
    bins: int = 15,
    lens: str | Lens = "auto",
    pos_label: Any = None,
) -> Certificate:
    r"""Certify an upper bound of the calibration error that holds at any number of rows.

    Unlike an interval, whose coverage is asymptotic or simulated, the bound is proven for every sample size, and for all rows and
    each group of ``Predictions(..., groups=...)`` at once. It is wider for that. No statistic bounds the true error of continuous scores for any
    distribution, so that `assuming` says what is bounded.

    Parameters
    ----------
    y_true
    y_prob
    level : float, default 0.95
        Probability with which all bounds hold jointly, at least.
    assuming : {"monotone", "variation", "levels", "none"}, default "monotone"
        ``"monotone"`` bounds the true error for a non-decreasing calibration curve, ``"variation"`` that for a curve whose total variation
        is at most `variation`. The others assume nothing of the curve: ``"levels"`` bounds the true error of scores with few distinct values,
        such as those of an isotonic or histogram calibrator that was fitted on other rows, and ``"none"`` the error over `bins` bins of equal
        width, in which errors of opposite signs cancel.
    variation : float, optional
        Largest total variation of the calibration curve, required for ``"variation"``; that of a monotone curve is at most 1.
    bins : int, default 15
        Number of bins of equal width, for ``"none"``.
    lens : str or Lens, default "auto"
        The event, with one score per row.
    pos_label

    Returns
    -------
    Certificate
        Result with ``bound``, ``bounds`` (of all rows and of each group), ``statement``, ``assumptions``, ``fingerprint``, and the method
        ``check``, which verifies it against data; ``save("certificate.json")`` writes it and `load_certificate` reads it.

    Raises
    ------
    ArgumentError
        If an option is out of range.
    LensError
        If the lens does not yield one score per row.
    UndefinedMetricError
        If the labels are soft.
    WeightsNotSupportedError
        If rows have importance weights; counts are supported.

    See Also
    --------
    calibrant.interval : Confidence interval of a metric.
    calibrant.assess : With a tolerance, a test whether a metric is small enough.
    calibrant.inference.calibration_band : Simultaneous band of a monotone calibration curve.

    Notes
    -----
    Let :math:`q(s) = P(Y = 1 \mid s)`, and divide the rows into bins b of neighbouring scores, with shares :math:`w_b`, ranges of scores
    :math:`r_b`, and :math:`\hat T = \sum_b w_b |\bar y_b - \bar s_b|`. Each of three statements fails with probability at most
    :math:`\delta / 3`.

    1. For the signs :math:`a_b` of :math:`\bar q_b - \bar s_b`, which do not depend on the labels,
       :math:`\sum_b w_b |\bar q_b - \bar s_b| = \sum_b a_b w_b (\bar q_b - \bar s_b) \le \hat T + \frac{1}{n} \sum_i a_{b(i)} (q_i - y_i)`. The last
       sum has independent, centred terms of at most 1 and a variance of at most :math:`V = \sum_i E (y_i - s_i)^2`, so that Bennett's inequality [1]_
       bounds it, without a union over bins.
    2. V is bounded by the Chernoff bound of the Brier score.
    3. Within a bin the mean absolute deviation of :math:`q - s` from its mean is at most half of its range. For a non-decreasing curve this range is at
       most :math:`\max(d_b, r_b)` with :math:`\sum_b d_b \le 1`, hence
       :math:`\frac{1}{n} \sum_i |q_i - s_i| \le \sum_b w_b |\bar q_b - \bar s_b| + \frac{1}{2} (\sum_b w_b r_b + \max_b w_b (1 - r_b))`; for
       a curve of variation v the last term is :math:`\frac{1}{2} (\sum_b w_b r_b + v \max_b w_b)`, over the bins of several scores. The Chernoff bound [2]_ of a mean of
       n values in [0, 1] leads from these rows to the population.

    The number of bins minimizes the bound that is expected of calibrated scores; it depends on the scores alone. With ``"levels"`` each
    distinct score is a bin, within which the error is constant. With ``"none"`` the bins are fixed, and
    the first two steps, each at :math:`\delta / 2` and with terms of at most 2, bound the error of the population. With g groups
    :math:`\delta = (1 - \text{level}) / (g + 1)`. For calibrated scores the bound decreases as :math:`n^{-1/3}`.

    References
    ----------
    .. [1] Bennett, G. (1962). Probability inequalities for the sum of independent random variables. JASA 57.
    .. [2] Hoeffding, W. (1963). Probability inequalities for sums of bounded random variables. JASA 58.

    Examples
    --------
    >>> import calibrant as cal
    >>> data = cal.inference.make_calibrated(5000, rng=0)
    >>> certificate = cal.certify(data.y_true, data.y_prob)
    >>> round(certificate.bound, 3), certificate.check(data.y_true, data.y_prob)
    (0.079, ())
    """
    check_fraction(level, "level")
    check_choice(assuming, "assuming", ("monotone", "variation", "levels", "none"))
    check_whole(bins, "bins")
    if (variation is None) == (assuming == "variation"):
        remedy = "pass variation=2, or use assuming='monotone'" if variation is None else "use assuming='variation'"
        raise ArgumentError("variation", "is required by, and only for, assuming='variation'", remedy)
    if variation is not None:
        check_number(variation, "variation")
    p = as_predictions(y_true, y_prob, pos_label=pos_label)
    parts = [(ALL_ROWS, p), *((str(g.labels[place]), p.take(rows)) for g, place, rows in groups_of(p))]
    risk = (1 - level) / len(parts)
    bounds = []
    for name, part in parts:
        view = single_view("certify", part, lens)
        if isinstance(view, VectorView):
            raise LensError("lens", "certify requires one score per row", "use 'top_label' or 'class:NAME'")
        refuse_importance(view, "certify", "drop them, or pass counts")
        if assuming == "none":
            bound = bound_binned_error(view, risk, bins)
        else:
            bound = bound_true_error(view, risk, variation, by_level=assuming == "levels")
        bounds.append(CertifiedError(name, int(view.total), *bound))
    versions = {"calibrant": __version__, "numpy": np.__version__}
    fixed = bins if assuming == "none" else None
    return Certificate(tuple(bounds), level, assuming, variation, fixed, view.lens, data_fingerprint(p), versions)


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate that was written by ``certificate.save("certificate.json")``.

    Parameters
    ----------
    path : str or path-like
        JSON file.

    Returns
    -------
    Certificate
        The certificate; its method ``check`` verifies it against data.

    Raises
    ------
    FileError
        If the file cannot be read, is not a certificate, or states something else than its bounds.

    Examples
    --------
    >>> import os, tempfile
    >>> import calibrant as cal
    >>> written = cal.certify([0, 1] * 50, [0.3, 0.7] * 50)
    >>> path = written.save(os.path.join(tempfile.mkdtemp(), "certificate.json"))
    >>> load_certificate(path) == written
    True
    """
    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream)
        bounds = tuple(CertifiedError(**each) for each in content["bounds"])
        fields = {name: content[name] for name in Certificate.__dataclass_fields__ if name != "bounds"}
        certificate = Certificate(bounds=bounds, **fields)
        said = {name: content[name] for name in ("statement", "assumptions")}
    except OSError as error:
        raise FileError(str(path), f"cannot be read ({error.strerror})", "check the path") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(
            str(path), "is not a certificate", "write one with calibrant certify --out FILE.json"
        ) from error
    if said != {name: certificate.to_dict()[name] for name in said}:
        raise FileError(str(path), "its statement or assumptions are not those of its bounds", "certify the data again")
    return certificate


def data_fingerprint(p: Predictions) -> str:
    """Return a hash of labels, scores and weights that does not depend on the order of rows.

    >>> a, b = Predictions([0, 1], [0.1, 0.4]), Predictions([1, 0], [0.4, 0.1])
    >>> data_fingerprint(a) == data_fingerprint(b), data_fingerprint(a) == data_fingerprint(Predictions([1, 0], [0.1, 0.4]))
    (True, False)
    """
    scores = p.probs if p.logits is None else p.logits
    labels = p.labels if p.labels is not None else p.soft
    assert labels is not None
    columns = [scores, labels] if p.weight is None else [scores, labels, p.weight]
    return fingerprint(np.column_stack(columns))
