"""Confidence limits of non-negative errors, by inversion of their test with simulated labels.

An error of 0 is accepted unless the test of calibration rejects. Larger errors are accepted where the observed value is not extreme for labels
simulated from probabilities that have this error, which is computed with these probabilities as soft labels. How much the estimate of an
absolute error exceeds the error depends on how the deviation is spread over the cells of the metric: it is largest where the deviation is
concentrated, which determines the lower limit, and smallest where all cells deviate equally in units of their noise, which determines the
upper limit. Each limit is therefore the widest of two shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..binning.rules import EqualMass, Rule
from ..binning.searches import Searched
from ..metrics.forms import Binned
from ..metrics.registry import Metric
from ..util.arrays import Floats
from ..util.cached import cached_property
from ..views.view import VectorView, View, sigmoid
from .cells import shared, shared_numbers
from .metric_tests import TestInput
from .pvalues import compared_with_draws
from .resampling import PredictionSampler, Resamples, RowSampler, Sampler, views_of_metric
from .simultaneous import population_values, values_of_labels

Places = NDArray[np.intp]
Shape = Callable[[float], Floats]
"""Probabilities of the labels as a function of the size of the deviation; those predicted for size 0."""

# Shapes of deviations, in the order of their seeds.
SHAPES = ("smooth", "spread", "higher", "lower", "selected")
# Sizes of deviations at which labels are simulated for each shape; the sets of labels for each, at least, and as a part of those of the test.
STEPS, FEWEST_SETS, SHARE_OF_SETS = 6, 24, 20
# A deviation of step k has size 2^(k / 2), so that the metrics of a call share the labels that are simulated.
FIRST_STEP, LAST_STEP = -40, 40
# The largest error at which labels are simulated is one whose estimates exceed the observed value by so many standard deviations.
REACH = 3.0
# Both tails are excluded in full where the mean of the estimates exceeds that of calibrated predictions by so many standard deviations.
APART = 2.0
# Errors among which the limits are found, and the weight of calibrated predictions, for which most labels are simulated, in smoothing.
GRID, NULL_WEIGHT = 400, 3.0
# Arrays of the size of the probabilities that a sampler of deviating labels keeps.
COPIES_OF_CHANCE = 4
# Probabilities of labels that are held at a time.
MOST_ENTRIES = 1 << 24
# Groups of equal mass stand for the cells of metrics without bins.
FEWEST_GROUPS, MOST_GROUPS, ROWS_OF_GROUP = 3, 15, 20
# Terms of a concentrated deviation.
MOST_TERMS = 20
# With fewer events or non-events, all probabilities may also deviate by the same difference.
FEW_EVENTS = 10
# Log-odds are truncated at this probability.
SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class Entries:
    """The events whose probabilities may deviate: one in each row, or one for each class."""

    chance: Floats
    """Predicted probabilities, of shape (N, C)."""
    outcome: Floats
    """Share of the rows in which each event occurred, of shape (N, C)."""
    weight: Floats
    """Number of rows, or their weight, of shape (N, 1)."""
    square: Floats
    """Sum of the squared weights of the rows, of shape (N, 1): of 5 identical rows 5, of a row of weight 5 25."""
    cell: Places
    """Cell of the metric in which each event is counted, of shape (N, C); -1 for none."""
    exclusive: bool
    """Whether exactly one event of each row occurs."""

    @cached_property
    def logit(self) -> Floats:
        """Log-odds, or the logarithms of the probabilities of exclusive events."""
        chance = np.clip(self.chance, SMALLEST, 1 - SMALLEST)
        return np.log(chance) if self.exclusive else np.log(chance) - np.log1p(-chance)

    def shifted(self, offset: Floats) -> Floats:
        """The probabilities after an offset of the log-odds."""
        logit = self.logit + offset
        if not self.exclusive:
            return sigmoid(logit)
        logit -= logit.max(axis=1, keepdims=True)
        np.exp(logit, out=logit)
        logit /= logit.sum(axis=1, keepdims=True)
        return logit

    def sums(self, values: Floats, cell: Places | None = None) -> Floats:
        """Sums over the rows of each cell."""
        place = (self.cell if cell is None else cell) + 1
        return np.asarray(np.bincount(place.ravel(), np.broadcast_to(values, place.shape).ravel())[1:], np.float64)

    def smooth(self) -> Shape:
        """Offset that is linear in the log-odds, in the direction of a logistic recalibration; a change of temperature for exclusive events."""
        if self.exclusive:
            centred = self.logit - np.sum(self.chance * self.logit, axis=1, keepdims=True)
            sign = 1.0 if np.sum(self.weight * (self.outcome - self.chance) * self.logit) >= 0 else -1.0
            scale = math.sqrt(float(np.average(np.sum(self.chance * centred**2, axis=1), weights=self.weight[:, 0])))
            direction = sign * centred / (scale or 1.0)
        else:
            direction = self._recalibration()
        return lambda size: self.shifted(size * direction)

    def _recalibration(self) -> Floats:
        """The direction of a ridge regression of the outcomes on the log-odds."""
        logit = self.logit.ravel()
        weight = np.broadcast_to(self.weight, self.logit.shape).ravel()
        centre = np.average(logit, weights=weight)
        spread = float(logit.std()) or 1.0
        line = np.array([np.ones(len(logit)), (logit - centre) / spread])
        slope = np.zeros(2)
        for _ in range(8):
            chance = sigmoid(logit + slope @ line)
            score = line @ (weight * (self.outcome.ravel() - chance)) - slope
            step = np.linalg.solve(line * (weight * chance * (1 - chance)) @ line.T + np.eye(2), score)
            slope = slope + step * min(1.0, 1.0 / float(np.abs(step).max() or 1.0))
        direction = (slope @ line).reshape(self.logit.shape)
        size = math.sqrt(float(np.mean(direction**2)))
        return direction / size if size > 0 else np.ones(self.logit.shape)

    def spread(self) -> Shape:
        """Difference in the direction of the residual of each cell, equal for all cells in units of their standard errors."""
        rows = self.sums(self.weight)
        full = np.maximum(rows, 1e-300)
        residual = self.sums(self.weight * (self.outcome - self.chance))
        rate = self.sums(self.weight * self.outcome) / full
        own = np.where(self.cell >= 0, (rate * (1 - rate))[self.cell], 0.0)
        variance = self.sums(self.square * np.maximum(self.chance * (1 - self.chance), own))
        unit = np.where(residual < 0, -1.0, 1.0) * np.sqrt(variance) / full
        return self.added(np.where(self.cell >= 0, unit[self.cell], 0.0))

    def added(self, unit: Floats) -> Shape:
        """Probabilities to which a multiple of a difference is added, as far as they remain probabilities."""
        active = self.cell >= 0

        def shape(size: float) -> Floats:
            chance = np.clip(self.chance + size * unit, 0.0, 1.0)
            if self.exclusive:
                rest = np.maximum(1 - np.sum(chance, axis=1, where=active, keepdims=True), 0.0)
                others = np.sum(self.chance, axis=1, where=~active, keepdims=True)
                scaled = self.chance * np.divide(rest, others, out=np.zeros(rest.shape), where=others > 0)
                chance = np.where(active, chance, scaled)
                total = chance.sum(axis=1, keepdims=True)
                chance = np.divide(chance, total, out=self.chance.copy(), where=total > 0)
            return chance

        return shape

    def selected(self) -> Shape:
        """Offset of the log-odds in few terms (all, slope, class, cell), each added where its residual is significant among all terms."""
        columns = np.broadcast_to(np.arange(self.cell.shape[1]), self.cell.shape)
        partitions = [self.cell, columns] if len(columns) else [self.cell]
        centred = self.logit - self.logit.mean()
        squares, offset = centred**2, np.zeros(self.logit.shape)
        count = sum(int(cell.max()) + 1 for cell in partitions) + 1
        least = math.sqrt(2 * math.log(count))
        for term in range(MOST_TERMS):
            chance = self.shifted(offset)
            binomial = chance * (1 - chance)
            residual, information = self.weight * (self.outcome - chance), self.weight * binomial
            variance = self.square * binomial
            score, noise = float(np.vdot(residual, centred)), float(np.vdot(variance, squares))
            deviation = abs(score) / math.sqrt(noise) if noise > 0 else 0.0
            best = deviation, centred * (score / (float(np.vdot(information, squares)) + 1))
            for cell in partitions:
                total, noises = self.sums(residual, cell), self.sums(variance, cell)
                deviations = np.divide(np.abs(total), np.sqrt(noises), out=np.zeros(len(total)), where=noises > 0)
                place = int(deviations.argmax())
                if deviations[place] > best[0]:
                    inside = cell == place
                    step = total[place] / (float(information[inside].sum()) + 0.5)
                    best = float(deviations[place]), inside * min(max(step, -1.0), 1.0)
            if term and best[0] <= least:
                break
            offset = offset + best[1]
        size = math.sqrt(float(np.mean(offset**2))) or 1.0
        return lambda multiple: self.shifted(multiple / size * offset)


def _polynomial(x: Floats, y: Floats, weight: Floats, degree: int) -> Callable[[Any], Any]:
    """The polynomial of least weighted squares."""
    powers = np.vander(x, degree + 1)
    factors = np.linalg.lstsq(powers * weight[:, None], y * weight)[0].tolist()

    def value(at: Any) -> Any:
        total = factors[0]
        for factor in factors[1:]:
            total = total * at + factor
        return total

    return value


def entries_of(sampler: Sampler, metric: Metric, options: dict[str, Any]) -> Entries:
    """The events that a sampler simulates, in the cells of a metric."""
    keywords = metric.averaged(metric.arguments(options))[0]
    if not isinstance(sampler, PredictionSampler):
        view = sampler.view if isinstance(sampler, RowSampler) else sampler.distinct_view
        outcome = view.outcome if isinstance(sampler, RowSampler) else sampler.positives / sampler.rows
        weight, square = _weights(view.weights, view.weight_kind)
        return Entries(view.score[:, None], outcome[:, None], weight, square, _cells(view, keywords)[:, None], False)
    p = sampler.predictions
    chance = p.probs if p.kind == "multilabel" or p.k > 2 else (p.probs if p.probs.ndim == 1 else p.probs[:, 1])
    chance = chance.astype(np.float64).reshape(p.n, -1)
    assert p.labels is not None
    outcome = p.labels.reshape(p.n, -1).astype(np.float64)
    exclusive = p.kind == "multiclass" and p.k > 2
    if exclusive:
        outcome = np.zeros(chance.shape)
        outcome[np.arange(p.n), p.labels] = 1
    weight, square = _weights(np.ones(p.n) if p.weight is None else p.weight.astype(np.float64), p.weight_kind)
    cell: Places | None = _cells_of_vectors(sampler, metric, options, chance.shape)
    if cell is None:  # those of each class
        columns = [_cells(View(column, np.zeros(p.n, np.uint8)), keywords) for column in chance.T]
        starts = np.append(0, np.cumsum([column.max() + 1 for column in columns]))
        cell = np.column_stack([column + start for column, start in zip(columns, starts, strict=False)])
    return Entries(chance, outcome, weight, square, cell, exclusive)


def _weights(weight: Floats, kind: str) -> tuple[Floats, Floats]:
    """Weights of shape (N, 1), of importance with mean 1, and the sums of squared weights of rows."""
    if kind != "importance":
        return weight[:, None], weight[:, None]
    weight = weight[:, None] / weight.mean()
    return weight, weight**2


def _cells(view: View, keywords: Mapping[str, Any]) -> Places:
    """The bin of each score, or its group of equal mass."""
    rule = keywords.get("rule")
    if isinstance(rule, (Rule, Searched)):
        return rule.cells(view)[0]
    rows = view.n if view.weight_kind == "importance" else view.total
    groups = int(np.clip(rows / ROWS_OF_GROUP, FEWEST_GROUPS, MOST_GROUPS))
    return EqualMass(groups).cells(view)[0]


def _cells_of_vectors(
    sampler: PredictionSampler, metric: Metric, options: dict[str, Any], shape: tuple[int, ...]
) -> Places | None:
    """The bins of a metric of whole vectors; None where it has none."""
    views = views_of_metric(metric, sampler.predictions, options)
    view = views[0]
    form = metric.form(view, metric.arguments(options)) if len(views) == 1 and isinstance(view, VectorView) else None
    if not isinstance(form, Binned) or shape[1] == 1 or view.n != shape[0]:
        return None
    cells, tables, bins = form.cells()
    _, classes, _ = form.rows
    cell = np.full(shape, -1, np.intp)
    if form.cell is not None:
        cells = cells + np.arange(classes.shape[1]) * tables * bins
    np.put_along_axis(cell, classes, np.broadcast_to(cells, classes.shape), 1)
    used, number = np.unique(cell, return_inverse=True)
    return np.asarray(number.reshape(shape) - (1 if used[0] < 0 else 0), np.intp)


@dataclass(frozen=True, eq=False)
class Deviations:
    """Samplers of labels that deviate from the predicted probabilities in one shape, shared by metrics."""

    own: Sampler
    """The sampler of labels with the predicted probabilities."""
    name: str
    """One of `SHAPES`."""
    cells: int | None
    """The cells on which the shape depends, as a hash."""
    shape: Shape
    sign: int = 1

    @cached_property
    def sampler(self) -> Callable[[int], Sampler]:
        """The sampler of labels that deviate by a step."""

        def make(step: int) -> Sampler:
            chance, own = self.shape(self.sign * 2.0 ** (step / 2)), self.own.chance
            if own.ndim == 1:
                chance = chance[:, 0]
            elif own.shape[1] > chance.shape[1]:  # both classes of two
                chance = np.column_stack([1 - chance, chance])
            return self.own.with_chance(chance)

        size = COPIES_OF_CHANCE * 8 * self.own.chance.size
        return shared_numbers(("deviation", self.own, self.name, self.cells, self.sign), make, size)

    def resamples(self, step: int, count: int, seed: int) -> Resamples:
        """Labels that deviate by a step; what is added to the seed of the test is different for all shapes and steps."""
        seed += 7919 * (1000 * SHAPES.index(self.name) + 2 * (step - FIRST_STEP) + (self.sign > 0) + 1)
        return Resamples(self.sampler(step), "outcomes", count, seed)


class Sample(NamedTuple):
    """Estimates from labels that deviate by a step."""

    values: Floats
    mean: float
    deviation: float

    @classmethod
    def of_lines(cls, lines: Floats) -> list[Sample]:
        """The defined estimates of each line; NaN for moments of too few."""
        known = np.isfinite(lines)
        count, filled = known.sum(axis=1), np.where(known, lines, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = filled.sum(axis=1) / count
            squares = np.where(known, (lines - means[:, None]) ** 2, 0.0).sum(axis=1)
            deviations = np.sqrt(squares / (count - 1))
        values = map(np.ndarray.__getitem__, lines, known)
        return list(map(cls, values, means.tolist(), deviations.tolist()))


At = tuple[Deviations, int]
"""Deviations of one shape by a step."""


class Limits(NamedTuple):
    """The smallest and the largest error that one shape of deviations accepts."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Inversion:
    """Limits of the error of a metric from simulated labels."""

    test: TestInput
    """The test of calibration, at the level of the limits."""
    options: dict[str, Any]
    sampler: Sampler
    null: Floats
    """Values for labels simulated from the predicted probabilities."""
    known_errors: dict[At, float] = field(default_factory=dict, init=False)
    known_samples: dict[At, Sample] = field(default_factory=dict, init=False)

    @cached_property
    def mean(self) -> float:
        """Mean of the values for calibrated predictions."""
        return float(self.null[np.isfinite(self.null)].mean())

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the values for calibrated predictions."""
        return max(float(self.null[np.isfinite(self.null)].std()), 1e-300)

    def limits(self) -> tuple[float, float]:
        """Lower and upper limit; an estimate that is not negative lies between them. The lower is 0 unless the test rejects."""
        entries = entries_of(self.sampler, self.test.metric, self.options)
        # The smooth shape does not depend on the cells, so that metrics share it.
        smooth = shared(("smooth", self.sampler), entries.smooth)
        shapes = {"smooth": smooth, "spread": entries.spread()}
        events = [float(np.sum(entries.weight * part)) for part in (entries.outcome, 1 - entries.outcome)]
        if entries.chance.shape[1] == 1 and min(events) < FEW_EVENTS:
            ones = np.ones(entries.chance.shape)
            shapes |= {"higher": entries.added(ones), "lower": entries.added(-ones)}
        rejects = compared_with_draws(self.test, self.null).pvalue <= self.test.alpha
        if rejects:
            shapes["selected"] = entries.selected()
        cells = hash(entries.cell.tobytes())
        deviations = [
            Deviations(self.sampler, name, None if name == "smooth" else cells, shape) for name, shape in shapes.items()
        ]
        found = dict(zip(shapes, self._limits(deviations), strict=True))
        few = [found.get("smooth"), found.pop("selected", None)]
        low = max(min([self.test.statistic, *(each.low for each in few if each)]), 0.0) if rejects else 0.0
        high = max([self.test.statistic, *(each.high for each in found.values() if each)])
        return low, min(high, max(self.test.metric.range[1], self.test.statistic))

    def errors(self, asked: Sequence[At]) -> list[float]:
        """The errors of deviating labels; where soft labels have none, the mean of estimates above that of calibrated predictions."""
        known = self.known_errors
        for some in self._parts([at for at in asked if at not in known]):
            values = population_values(self.test.metric, self.options, [shape.sampler(step) for shape, step in some])
            known.update(zip(some, values.tolist(), strict=True))
            undefined = [some[place] for place in np.flatnonzero(np.isnan(values))]
            for at, sample in zip(undefined, self.samples(undefined), strict=True):
                known[at] = sample.mean - self.mean if len(sample.values) else 0.0
        return [known[at] for at in asked]

    def samples(self, asked: Sequence[At]) -> list[Sample]:
        """Estimates from deviating labels."""
        known, sets = self.known_samples, max(FEWEST_SETS, self.test.n_resamples // SHARE_OF_SETS)
        for some in self._parts([at for at in asked if at not in known]):
            drawn = [shape.resamples(step, sets, self.test.seed) for shape, step in some]
            known.update(
                zip(some, Sample.of_lines(values_of_labels(self.test.metric, self.options, drawn)), strict=True)
            )
        return [known[at] for at in asked]

    def _parts(self, asked: list[At]) -> Iterable[list[At]]:
        """Some deviations at a time, if there are many probabilities."""
        most = max(1, MOST_ENTRIES // self.sampler.chance.size)
        return (asked[start : start + most] for start in range(0, len(asked), most)) if asked else ()

    def _limits(self, shapes: list[Deviations]) -> list[Limits | None]:
        """The limits for each shape of deviations; None where it has no error."""
        errors = self.errors([(shape, step) for step in (0, LAST_STEP) for shape in shapes])
        # Errors of one side may be those of the opposite deviations.
        shapes = [shape if error > 0 else replace(shape, sign=-1) for shape, error in zip(shapes, errors, strict=False)]
        steps = [
            [(shape, step) for step in range(largest - STEPS + 1, largest + 1)]
            for shape, largest in zip(shapes, self._largest(shapes), strict=True)
        ]
        self.errors([at for own in steps for at in own])
        return [self._accepted(own) for own in steps]

    def _largest(self, shapes: list[Deviations]) -> list[int]:
        """The step of each shape whose estimates exceed the observed value clearly, or which has the largest possible error."""
        possible = [0.99 * error for error in self.errors([(shape, LAST_STEP) for shape in shapes])]
        target = max(max(self.test.statistic - self.mean, 0.0) + (REACH + 1) * self.deviation, 1e-6)
        steps = self._first_steps(shapes, [min(target, own) for own in possible])
        waiting = list(range(len(shapes)))
        for _ in range(STEPS):
            self.samples([(shapes[i], step) for i in waiting for step in range(steps[i] - STEPS + 1, steps[i] + 1)])
            largest = [(shapes[i], steps[i]) for i in waiting]
            reached = [
                len(sample.values) < 2
                or error >= possible[i]
                or sample.mean - REACH * max(sample.deviation, self.deviation / 2) >= self.test.statistic
                for i, sample, error in zip(waiting, self.samples(largest), self.errors(largest), strict=True)
            ]
            waiting = [i for i, is_reached in zip(waiting, reached, strict=True) if not is_reached]
            for i in waiting:
                steps[i] += 1
        return steps

    def _first_steps(self, shapes: list[Deviations], targets: list[float]) -> list[int]:
        """A step of each shape whose error is at least its target and that of the step before is not; mostly errors increase, nearly in proportion."""
        count = len(shapes)
        low, high, guess = [FIRST_STEP + STEPS - 1] * count, [LAST_STEP] * count, [0] * count
        while waiting := [i for i in range(count) if low[i] < high[i]]:
            errors = self.errors([(shapes[i], guess[i]) for i in waiting])
            for i, error in zip(waiting, errors, strict=True):
                if error >= targets[i]:
                    high[i] = guess[i]
                else:
                    low[i] = guess[i] + 1
                nearest = (low[i] + high[i]) // 2
                if targets[i] > 0 and 0 < error < math.inf:
                    nearest = guess[i] + math.ceil(2 * math.log2(targets[i] / error))
                guess[i] = min(max(nearest, low[i]), high[i] - 1)
        return low

    def _accepted(self, steps: Sequence[At]) -> Limits | None:
        """The errors for which the observed value is not extreme, by the smoothed bias and standard deviation of the estimates."""
        known = zip(self.errors(steps), self.samples(steps), strict=True)
        kept = [(error, *sample) for error, sample in known if error > 0 and len(sample.values) > 1]
        if not kept:
            return None
        errors, values, means, deviations = zip(*kept, strict=True)
        top, alpha = max(errors), self.test.alpha
        x, weight = np.array([0.0, *errors]) / top, np.array([NULL_WEIGHT, *(1.0 for _ in errors)])
        distinct = len(set(x.round(2).tolist())) - 1
        excess = np.array([self.mean, *means]) - np.array([0.0, *errors])
        bias = _polynomial(x, excess, weight, min(3, distinct))
        spread = _polynomial(x, np.array([self.deviation, *deviations]), weight, min(2, distinct))
        least = max(0.3 * min(self.deviation, *deviations), 1e-300)

        def standardised(value: Any, error: Any) -> Floats:
            share = error / top
            return np.asarray((value - error - bias(share)) / np.maximum(spread(share), least))

        def residuals(first: int) -> Floats:
            """Of the estimates from some error on, in order."""
            every = np.repeat(errors[first:], [len(own) for own in values[first:]])
            return np.sort(standardised(np.concatenate(values[first:]), every))

        grid = np.arange(1, GRID + 1) * (top / GRID)
        grid[-1] = top
        place = standardised(self.test.statistic, grid)
        # Small errors have estimates that are skewed to the right. The upper limit is among the larger ones, whose lower tail is longer; the
        # observed value counts as one of theirs, as in a p-value by simulation.
        every, of_large = residuals(0), residuals(len(values) // 2)
        below = of_large.searchsorted(place, side="right") / len(of_large)
        above = 1 - every.searchsorted(place, side="left") / len(every)
        # From the one-sided test of an error of 0 to equal tails.
        apart = ((grid + bias(grid / top) - self.mean) / (APART * self.deviation)).clip(0, 1)
        low, high = grid[above >= alpha * (1 - apart / 2)], grid[below >= apart * alpha / 2]
        # A shape that never reaches the observed value says nothing about the smallest error.
        return Limits(float(low[0]) if len(low) else math.inf, float(high[-1]) if len(high) else 0.0)
