"""Online calibration: Platt or beta scaling that learns from each label as it arrives, followed by calibeating."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..curves.logistic_regression import CLIP
from ..errors import LabelError, ShapeError
from ..input.convert import column
from ..util.checks import check_whole
from ..util.progress import track
from .base import CountingCalibrator, FitRecord, Input
from .scores import Floats, Scores, TrainingData, normalised, off_boundary
from .softmax_regression import by_newton

# Of the online Newton step, as in the paper: step size, first curvature and largest norm of the coefficients.
GAMMA, RHO, LARGEST = 0.1, 100.0, 100.0


@dataclass(eq=False, repr=False)
class OnlineCalibration(CountingCalibrator):
    r"""Online Platt or beta scaling with calibeating: a calibrator that follows a stream of labels.

    `update` predicts each row, and then learns from its label. It adapts to drift, keeps a state of fixed size, and can be saved and
    resumed at any time. `fit` is optional: it starts from held-out data instead of the identity.

    Parameters
    ----------
    input
    form : {"platt", "beta"}, default "platt"
        Family of the curve: two coefficients, or three as in beta calibration.
    bins : int, default 10
        Number of bins of calibeating; with 0, the probability of the curve is returned.

    Attributes
    ----------
    weight_ : ndarray of shape (P, 2) or (P, 3)
        Coefficients of each of P binary problems: of the log-odds and the constant, or of :math:`\ln p`, :math:`-\ln(1 - p)` and the constant.
    curvature_ : ndarray of shape (P, 2, 2) or (P, 3, 3)
        Sum of the squared gradients of each problem.
    rows_ : ndarray of shape (P, bins)
        Number of rows in each bin of the probability of the curve.
    events_ : ndarray of shape (P, bins)
        Number of events in each bin.
    updates_ : int
        Number of rows that `update` has learned from.
    classes_
    fit_record_

    See Also
    --------
    PlattScaling : Fitted once.
    BetaCalibration : Fitted once.

    Notes
    -----
    For features :math:`x_t` of the score and the probability :math:`p_t = \sigma(\theta_t^\top x_t)`, a row changes the coefficients by the
    online Newton step [1]_

    .. math:: A_t = A_{t-1} + g_t g_t^\top, \quad \theta_{t+1} = \theta_t - A_t^{-1} g_t / \gamma, \quad g_t = (p_t - y_t) x_t,

    which starts from :math:`A_0 = 100 I` and the identity, with :math:`\gamma = 0.1`, and is projected to norms of at most 100. Its log
    loss exceeds that of the best fixed coefficients by a logarithm of the number of rows. Calibeating then replaces :math:`p_t` by the
    observed rate of its bin of equal width so far, here with one pseudo-observation at :math:`p_t`, so that a bin without rows returns it unchanged:
    :math:`q_t = (\text{events} + p_t) / (\text{rows} + 1)`. It holds against any sequence of outcomes, and loses what distinguishes scores within a
    bin: where the curve itself fits, ``bins=0`` has the smaller loss.

    `fit` minimizes the log loss plus :math:`\gamma \rho / 2 = 5` times the squared distance from the identity, and adds the squared gradients
    of these rows to the curvature: the more rows it had, the smaller the later steps. More than two classes are treated
    one-vs-rest, and rows are divided by their sum.

    References
    ----------
    .. [1] Gupta, C., Ramdas, A. (2023). Online Platt scaling with calibeating. ICML. arXiv 2305.00070.
    .. [2] Foster, D. P., Hart, S. (2023). "Calibeating": beating forecasters at their own game. Theoretical Economics 18.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.inference.simulation import temperature
    >>> data = cal.inference.make_miscalibrated(5000, warp=temperature(2.0), rng=0)
    >>> calibrator = cal.OnlineCalibration()
    >>> before = calibrator.update(data.y_prob, data.y_true)  # each row before its label was known
    >>> round(cal.brier(data.y_true, data.y_prob), 4), round(cal.brier(data.y_true, before), 4)
    (0.2254, 0.219)
    >>> calibrator.updates_, calibrator.weight_.round(2)
    (5000, array([[0.49, 0.1 ]]))
    """

    methods = ()
    fitted = ("weight_", "curvature_", "rows_", "events_", "updates_")
    checks = {"bins": partial(check_whole, low=0)}
    least_probability = CLIP

    input: Input = "prob"
    form: Literal["platt", "beta"] = "platt"
    bins: int = 10

    def _fit(self, data: TrainingData) -> None:
        self._warn_of_absent(data)
        self._start(data.k)
        x, weight = self._features(data), data.effective_weight
        for number, c in enumerate(_events(data.k)):
            own, event = x[number], (data.labels == c).astype(np.float64)
            start = self.weight_[number].copy()
            self.weight_[number] = by_newton(partial(_penalized_loss, own, event, weight, start), start)
            p = _rate(own @ self.weight_[number])
            self.curvature_[number] += (own * (weight * (p - event) ** 2)[:, None]).T @ own
            if self.bins:
                place = self._bin(p)
                self.rows_[number] = np.bincount(place, weight, self.bins)
                self.events_[number] = np.bincount(place, weight * event, self.bins)

    def _start(self, k: int) -> None:
        """The state before any row: the identity."""
        problems, size = len(_events(k)), 2 if self.form == "platt" else 3
        self.weight_ = np.tile([1.0, 0.0] if size == 2 else [1.0, 1.0, 0.0], (problems, 1))
        self.curvature_ = np.tile(RHO * np.eye(size), (problems, 1, 1))
        self.rows_, self.events_ = np.zeros((2, problems, self.bins))
        self.updates_ = 0

    def update(self, scores: Any, y: Any) -> Floats:
        """Predict rows one after another, each from the labels of those before it, and learn from their labels.

        Parameters
        ----------
        scores : array-like of shape (N,) or (N, K), or frame
            Probabilities or logits, according to the parameter `input`, in the order of the stream.
        y : array-like of shape (N,)
            Observed class of each row: one of `classes_`, or its index where the calibrator was not fitted.

        Returns
        -------
        ndarray of shape (N, K)
            Calibrated probabilities of each row before its label was known.

        Raises
        ------
        LabelError
            If a label is not a known class.
        ShapeError
            If scores and labels differ in their numbers of rows or classes.
        """
        self._check_params()
        labels = column(y, "y").array
        if not hasattr(self, "fit_record_"):
            columns = np.shape(scores)[1] if np.ndim(scores) == 2 else 1
            self.classes_, self.n_features_in_ = np.arange(max(columns, 2)), columns
            self._start(len(self.classes_))
            self.fit_record_ = FitRecord(0, 0.0, "")
        data = off_boundary(self._read(scores), self.fit_record_.boundary)
        known = {name: code for code, name in enumerate(self.classes_.tolist())}
        if labels.shape != (data.n,):
            raise ShapeError("y", f"must be {data.n} labels, one for each score; got shape {labels.shape}")
        unknown = [(row, name) for row, name in enumerate(labels.tolist()) if name not in known]
        if unknown:
            row, name = unknown[0]
            raise LabelError("y", f"{name!r} is not one of the classes {list(known)[:5]}", row=row)
        codes = np.array([known[name] for name in labels.tolist()], np.int64)
        events = codes[:, None] == np.array(_events(data.k))
        x = self._features(data).transpose(1, 0, 2)
        rates = [self._learn(*row) for row in track(zip(x, events.astype(np.float64), strict=True), "rows", data.n)]
        self.updates_ += data.n
        return self._rows_of(np.reshape(rates, (data.n, -1)), data)

    def _learn(self, x: Floats, event: Floats) -> Floats:
        """The calibrated rate of each binary problem of one row, and the step of its label."""
        p = _rate(np.einsum("ij,ij->i", x, self.weight_))
        rates = p
        if self.bins:
            at = np.arange(len(p)), self._bin(p)
            rates = (self.events_[at] + p) / (self.rows_[at] + 1)
            self.rows_[at] += 1
            self.events_[at] += event
        gradient = (p - event)[:, None] * x
        self.curvature_ += gradient[:, :, None] * gradient[:, None, :]
        self.weight_ -= np.linalg.solve(self.curvature_, gradient[:, :, None])[:, :, 0] / GAMMA
        for number in np.flatnonzero(np.linalg.norm(self.weight_, axis=1) > LARGEST):
            self.weight_[number] = _project(self.weight_[number], self.curvature_[number])
        return rates

    def _features(self, data: Scores) -> Floats:
        """What the coefficients multiply: shape (P, N, 2) or (P, N, 3)."""
        odds = np.array([data.odds_of(c) for c in _events(data.k)])
        if self.form == "platt":
            return np.stack([odds, np.ones_like(odds)], axis=2)
        return np.stack([-np.logaddexp(0, -odds), np.logaddexp(0, odds), np.ones_like(odds)], axis=2)

    def _bin(self, p: Floats) -> NDArray[np.intp]:
        return np.minimum((p * self.bins).astype(np.intp), self.bins - 1)

    def _predict(self, data: Scores) -> Floats:
        p = _rate(np.einsum("pnj,pj->np", self._features(data), self.weight_))
        if self.bins:
            at = np.arange(p.shape[1]), self._bin(p)
            p = (self.events_[at] + p) / (self.rows_[at] + 1)
        return self._rows_of(p, data)

    def _rows_of(self, rates: Floats, data: Scores) -> Floats:
        """Probabilities of all classes from the rates of the binary problems."""
        return np.column_stack([1 - rates, rates]) if data.k == 2 else normalised(rates, data.probs)


def _events(k: int) -> list[int]:
    """The class of the event of each binary problem."""
    return [1] if k == 2 else list(range(k))


def _rate(eta: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(eta))


def _penalized_loss(
    x: Floats, event: Floats, weight: Floats, start: Floats, theta: Floats
) -> tuple[float, Floats, Floats]:
    """Log loss plus the squared distance from the start, with gradient and Hessian."""
    eta, price, apart = x @ theta, GAMMA * RHO, theta - start
    p = _rate(eta)
    value = float(weight @ (np.logaddexp(0, eta) - event * eta) + price / 2 * apart @ apart)
    hessian = (x * (weight * p * (1 - p))[:, None]).T @ x + price * np.eye(len(theta))
    return value, x.T @ (weight * (p - event)) + price * apart, hessian


def _project(theta: Floats, curvature: Floats) -> Floats:
    """The coefficients of the largest norm allowed that are closest in the norm of the curvature."""
    from scipy.optimize import brentq

    wanted, unit = curvature @ theta, np.eye(len(theta))

    def projected(price: float) -> Floats:
        return np.asarray(np.linalg.solve(curvature + price * unit, wanted))

    high = float(np.linalg.norm(wanted)) / LARGEST
    return projected(brentq(lambda price: float(np.linalg.norm(projected(price))) - LARGEST, 0.0, high))
