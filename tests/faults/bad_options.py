"""Options out of range, lenses and selections that do not fit, words from elsewhere, names nobody has."""

from __future__ import annotations

import numpy as np

import calibrant as cal
from calibrant.errors import (
    AmbiguousMetricError,
    ArgumentError,
    InputTypeError,
    LensError,
    ShapeError,
    UndefinedMetricError,
    UnknownArgumentError,
    UnknownMetricError,
    WeightsNotSupportedError,
)

from .cases import COLUMNS, LABELS, P3, Y3, Bad, P, Y, kind

WHOLE = "an integer of at least 1"
NORMS = "a number of at least 1, or inf"
CHECKED = cal.Predictions(Y, P)
VIEW = cal.views.View(np.array(P), np.array(Y, np.uint8))
SOFT_TABLE = cal.calibration_curve(cal.Predictions([0.2, 0.5, 0.5, 0.0], P, soft=True), level=None).table
HARD_TABLE = cal.calibration_curve(Y, P).table

bins = kind(ArgumentError, ValueError, "bins")
binning = kind(ArgumentError, ValueError, "binning")
norm = kind(ArgumentError, ValueError, "norm")
lens = kind(LensError, ValueError, "lens")
lens_class = kind(ArgumentError, ValueError, "lens")
where = kind(LensError, ValueError, "where")


def option(argument: str, id: str, call: object, *words: str) -> Bad:
    return kind(ArgumentError, ValueError, argument)(id, call, *words)


def word(argument: str, value: object, *words: str, metric: object = cal.ece) -> Bad:
    return kind(UnknownArgumentError, TypeError, argument)(
        f"keyword {argument} of {metric.__name__}",
        lambda: metric(Y, P, **{argument: value}),
        "unexpected keyword of",
        *words,
    )


BINS = [
    bins("bins 0", lambda: cal.ece(Y, P, bins=0), WHOLE, "got 0"),
    bins("bins True", lambda: cal.ece(Y, P, bins=True), WHOLE, "got True"),
    bins("too many bins", lambda: cal.ece(Y, P, bins=10**9), "must be at most 10 000 000", "got 1000000000"),
    bins(
        "edges fall",
        lambda: cal.ece(Y, P, bins=[0, 0.5, 0.3, 1]),
        "edges must increase strictly, from 0 or above to at most 1; got [0.0, 0.5, 0.3, 1.0]",
        "for example [0, 0.5, 0.9, 1]",
    ),
    kind(LensError, ValueError, "bins")(
        "edges end early",
        lambda: cal.calibration_curve(Y, P, bins=[0, 0.5]),
        "edges from 0 to 0.5 exclude 2 of 4 scores",
        "extend the edges to 0 and 1",
    ),
    bins(
        "grid edges start late",
        lambda: cal.gece(Y3, P3, binning=cal.SimplexGrid((0.1, 0.5, 1))),
        "edges of a grid must reach from 0 to 1; got [0.1, 0.5, 1]",
    ),
    kind(LensError, ValueError, "binning")(
        "1/K of other numbers",
        lambda: cal.uce(Y3, P3, binning="equal_width:1/K"),
        "'1/K' requires probabilities of K classes and their confidence in the predicted one",
        "give the number, for example 'equal_width:0.25' for four classes",
    ),
    binning(
        "range as text",
        lambda: cal.ece(Y, P, binning="equal_width:low"),
        "must be LOW or LOW,HIGH",
        "'equal_width:1/K'",
    ),
    bins("text edges", lambda: cal.ece(Y, P, bins=["low", "high"]), "edges must be numbers", "got ['low', 'high']"),
    bins(
        "edges and equal mass",
        lambda: cal.ece(Y, P, bins=[0, 1], binning="equal_mass"),
        "edges cannot be combined with the binning 'equal_mass'",
        "give a number of bins or drop binning",
    ),
    binning("binning uniform", lambda: cal.ece(Y, P, binning="uniform"), "got 'uniform'", "use 'equal_width'"),
    binning(
        "unknown binning",
        lambda: cal.ece(Y, P, binning="wide"),
        "must be 'equal_width', 'equal_mass', 'equal_area', 'quantile', 'levels' or a rule",
        "got 'wide'",
    ),
    binning(
        "a class as binning",
        lambda: cal.ece(Y, P, binning=cal.EqualWidth),
        "expected an instance, got the class EqualWidth",
        "call it: EqualWidth()",
    ),
    kind(LensError, ValueError, "binning")(
        "bins for vectors",
        lambda: cal.gece(Y3, P3, binning="equal_width"),
        "EqualWidth requires one score per row, and 'canonical' has several",
        "use 'auto' or KDTree()",
    ),
    kind(WeightsNotSupportedError, ValueError, "binning")(
        "split ties under weights",
        lambda: cal.ece(Y, P, binning=cal.EqualMass(ties="split"), sample_weight=[1, 2, 1, 1]),
        "splitting ties is not supported with weights",
        "use ties='together'",
    ),
    option(
        "range",
        "range falls",
        lambda: cal.EqualWidth(range=(0.5, 0.2)),
        "must satisfy 0 <= low < high <= 1",
        "got (0.5, 0.2)",
    ),
    kind(LensError, ValueError, "binning")(
        "range too narrow",
        lambda: cal.ece(Y, P, binning=cal.EqualWidth(range=(0.5, 1))),
        "the range (0.5, 1) excludes 2 of 4 scores, such as 0.2",
        "widen the range",
    ),
    option(
        "closed",
        "closed on both sides",
        lambda: cal.EqualWidth(closed="both"),
        "must be 'right' or 'left'",
        "got 'both'",
    ),
    option(
        "ties", "unknown ties", lambda: cal.EqualMass(ties="random"), "must be 'together' or 'split'", "got 'random'"
    ),
    option(
        "split", "unknown split", lambda: cal.EqualMass(split="even"), "must be 'floor' or 'array_split'", "got 'even'"
    ),
    option("gamma", "gamma 0", lambda: cal.gece(Y3, P3, gamma=0), "must be in (0, 1]; got 0", "for example 0.1"),
    option("min_size", "min_size 0", lambda: cal.KDTree(min_size=0), WHOLE, "got 0"),
]

OPTIONS = [
    norm("norm 0.5", lambda: cal.ece(Y, P, norm=0.5), NORMS, "got 0.5", "for example 1, 2 or math.inf"),
    norm("norm l2", lambda: cal.ece(Y, P, norm="l2"), NORMS, "got 'l2'", "use 2"),
    norm("norm max", lambda: cal.ece(Y, P, norm="max"), NORMS, "use math.inf"),
    option(
        "scale",
        "unknown scale",
        lambda: cal.brier(Y, P, scale="mean"),
        "must be one of 'auto', 'half', 'sum', 'per_class'",
        "got 'mean'",
    ),
    option(
        "distance",
        "unknown distance",
        lambda: cal.gece(Y3, P3, distance="kl"),
        "must be one of 'tv', 'l1', 'l2', 'lp', 'mahalanobis', 'interval'",
        "got 'kl'",
    ),
    option(
        "variation",
        "unknown variation",
        lambda: cal.vce(Y3, P3, variation="var"),
        "must be one of 'entropy', 'confidence', 'freeman_variation_ratio', 'wilcox_variation_ratio', 'iqv', 'gini'",
        "got 'var'",
    ),
    option("base", "base 1", lambda: cal.nll(Y, P, base=1), "must be positive, finite and not 1", "got 1"),
    option("floor", "floor 2", lambda: cal.nll(Y, P, floor=2), "must lie between 0 and 1", "got 2"),
    option(
        "min_count",
        "min_count -1",
        lambda: cal.mce(Y, P, min_count=-1),
        "must be a non-negative number; got -1",
    ),
    kind(UndefinedMetricError, ValueError, "mce")(
        "min_count too large",
        lambda: cal.mce(Y, P, min_count=100),
        "is undefined: no bin contains 100 rows",
        "lower min_count, or use fewer bins",
    ),
    option(
        "combine",
        "unknown combine",
        lambda: cal.cwce(Y3, P3, lens=cal.classwise(combine="median")),
        "must be 'mean', 'sum', 'max' or 'prevalence'",
        "got 'median'",
    ),
    option(
        "class_weight",
        "weights of too few",
        lambda: cal.cwce(Y3, P3, lens=cal.classwise(class_weight=[1, 2])),
        "must be 3 non-negative numbers, not all zero; got (1.0, 2.0)",
        "give one weight per class",
    ),
    option(
        "class_weight",
        "weights of one view",
        lambda: cal.ece(Y, P, lens=cal.ordinal(class_weight=[1])),
        "requires several classes; this lens has one event",
        "use classwise()",
    ),
    option("level", "level 0", lambda: HARD_TABLE.interval(0), "must lie between 0 and 1", "got 0", "for example 0.95"),
    option(
        "method",
        "unknown method",
        lambda: HARD_TABLE.interval(0.9, "normal"),
        "must be 'clopper_pearson', 'jeffreys' or 'wilson'",
        "got 'normal'",
    ),
    kind(UndefinedMetricError, ValueError, "interval")(
        "interval of soft labels", SOFT_TABLE.interval, "binomial intervals are not defined for soft labels", "use None"
    ),
    kind(UndefinedMetricError, ValueError, "ece")(
        "rows of a binned metric", lambda: cal.ece.rows(Y, P), "is not a mean over rows, so rows have no contributions"
    ),
]

LENSES = [
    lens(
        "unknown lens",
        lambda: cal.ece(Y3, P3, lens="foo"),
        "unknown lens 'foo'",
        "choose one of 'auto', 'binary', 'top_label', 'classwise', 'ordinal', 'canonical', 'flattened', 'class:0', 'ordinal:0', 'pair:0,1', 'rank:2', 'within_top:3', 'top_k:5'",
    ),
    lens("misspelt lens", lambda: cal.ece(Y3, P3, lens="top_lable"), "did you mean 'top_label'?"),
    lens(
        "a lens of another type",
        lambda: cal.ece(Y3, P3, lens=5),
        "must be a name or a Lens",
        "got int",
        "choose one of 'auto', 'binary', 'top_label', 'classwise', 'ordinal', 'canonical', 'flattened', 'class:0', 'ordinal:0', 'pair:0,1', 'rank:2', 'within_top:3', 'top_k:5'",
    ),
    lens("rank without number", lambda: cal.ece(Y3, P3, lens="rank"), "'rank' is incomplete", "for example 'rank:2'"),
    lens("class without name", lambda: cal.ece(Y3, P3, lens="class"), "'class' is incomplete", "for example 'class:0'"),
    lens(
        "pair with one class",
        lambda: cal.ece(Y3, P3, lens="pair:0"),
        "'pair' requires two classes",
        "for example 'pair:cat,dog'",
    ),
    lens(
        "class_groups without mapping",
        lambda: cal.gece(Y3, P3, lens="class_groups"),
        "'class_groups' requires a mapping",
        "pass the lens itself: calibrant.class_groups({...})",
    ),
    lens_class(
        "class not there", lambda: cal.ece(Y3, P3, lens="class:9"), "unknown class '9'", "the classes are 0 to 2"
    ),
    lens(
        "rank beyond K",
        lambda: cal.ece(Y3, P3, lens="rank:4"),
        "'rank:4' requires a number from 1 to 3, the number of classes",
        "got 4",
    ),
    lens("rank 0", lambda: cal.views.rank(0), WHOLE, "got 0"),
    lens(
        "top_k beyond K",
        lambda: cal.gece(Y3, P3, lens="top_k:4"),
        "'top_k:4' requires a number from 1 to 3, the number of classes",
        "got 4",
    ),
    lens(
        "within_top beyond K",
        lambda: cal.ece(Y3, P3, lens="within_top:4"),
        "'within_top:4' requires a number from 1 to 3, the number of classes",
        "got 4",
    ),
    lens(
        "binary of three",
        lambda: cal.ece(Y3, P3, lens="binary"),
        "'binary' requires two classes",
        "got multiclass predictions",
        "use 'top_label', 'classwise' or 'class:NAME'",
    ),
    lens(
        "canonical for ece",
        lambda: cal.ece(Y3, P3, lens="canonical"),
        "ece requires one score per row, and 'canonical' has several",
        "use 'top_label' or 'classwise', or the metric gece",
    ),
    lens(
        "classwise for a curve",
        lambda: cal.calibration_curve(Y3, P3, lens="classwise"),
        "'classwise' has more than one event per row",
        "use 'top_label' or 'class:NAME'",
    ),
    lens(
        "top_label of multilabel",
        lambda: cal.ece(cal.Predictions(LABELS, COLUMNS, multilabel=True), lens="top_label"),
        "use 'classwise' or 'class:NAME'",
    ),
    lens(
        "classwise of confidence",
        lambda: cal.ece(cal.Predictions(Y, P, input="confidence"), lens="classwise"),
        "'classwise' requires a probability for every class",
        "use 'top_label'",
    ),
    lens(
        "pair of the same",
        lambda: cal.ece(Y3, P3, lens="pair:0,0"),
        "'pair' requires two different classes",
        "got '0' twice",
    ),
    lens(
        "pair of soft labels",
        lambda: cal.ece(cal.Predictions(P3, P3, soft=True), lens="pair:0,1"),
        "'pair' selects rows by label, which is not defined for soft labels",
        "use 'class:NAME'",
    ),
    lens(
        "class in two groups",
        lambda: cal.gece(Y3, P3, lens=cal.class_groups({"a": [0, 1], "b": [1, 2]})),
        "class 1 is in two groups",
    ),
    lens(
        "class in no group",
        lambda: cal.gece(Y3, P3, lens=cal.class_groups({"a": [0], "b": [2]})),
        "class 1 is not in any group",
    ),
    lens(
        "nested groups",
        lambda: cal.class_groups({"a": {"b": [0]}}),
        "this mapping is nested",
        "use class_hierarchy(mapping), which gives one lens per level",
    ),
    lens(
        "groups without mapping",
        lambda: cal.class_groups([[0], [1]]),
        "'class_groups' requires a mapping from groups to classes",
        "for example class_groups({'animal': ['cat', 'dog'], 'other': ['car']})",
    ),
    lens_class(
        "unknown class in a group", lambda: cal.gece(Y3, P3, lens=cal.class_groups({"a": [7]})), "unknown class 7"
    ),
]

SELECTIONS = [
    where(
        "mask of integers",
        lambda: cal.ece(Y, P, where=[0, 1, 1, 0]),
        "must be one boolean per row",
        "got shape (4,) of int64",
        "for example age > 60",
    ),
    where(
        "mask with a hole",
        lambda: cal.ece(Y, P, where=[True, None, True, False]),
        "must be one boolean per row",
        "got shape (4,) of object",
    ),
    where(
        "mask in columns",
        lambda: cal.ece(Y, P, where=[[True]] * 4),
        "must be one boolean per row",
        "got shape (4, 1) of bool",
    ),
    kind(ShapeError, ValueError, "where")(
        "short mask", lambda: cal.ece(Y, P, where=[True, False]), "expected 4 Booleans, one per row; got 2"
    ),
    where(
        "mask keeps nothing",
        lambda: cal.ece(Y, P, where=[False] * 4),
        "mask selects none of 4 rows",
        "relax the condition",
    ),
    where(
        "selection keeps nothing",
        lambda: cal.ece(Y, P, where=cal.select.output(0.99)),
        "output from 0.99 to 1.0 selects none of 4 rows",
        "relax the condition",
    ),
    where(
        "unknown group",
        lambda: cal.ece(cal.Predictions(Y, P, groups=list("abab")), where=cal.select.group("c")),
        "'c'",
        "the groups are ['a', 'b']",
    ),
    where(
        "group without groups",
        lambda: cal.ece(Y, P, where=cal.select.group("c")),
        "select.group requires groups",
        "pass groups with one group per row",
    ),
    kind(ArgumentError, ValueError, "where")(
        "unknown label", lambda: cal.ece(Y3, P3, where=cal.select.label(7)), "unknown class 7", "the classes are 0 to 2"
    ),
    kind(ArgumentError, ValueError, "where")(
        "output of an unknown class",
        lambda: cal.ece(Y3, P3, where=cal.select.output(0.1, of=8)),
        "unknown class 8",
        "the classes are 0 to 2",
    ),
    where(
        "label of soft labels",
        lambda: cal.ece(cal.Predictions(P3, P3, soft=True), where=cal.select.label(1)),
        "select.label is not defined for soft or multilabel labels",
    ),
    where(
        "top of multilabel",
        lambda: cal.ece(cal.Predictions(LABELS, COLUMNS, multilabel=True), where=cal.select.output(0.1)),
        "pass of to name the class",
    ),
    where(
        "class of a confidence",
        lambda: cal.ece(cal.Predictions(Y, P, input="confidence"), where=cal.select.output(of=1)),
        "use of='top'",
    ),
    where(
        "selection and mask",
        lambda: cal.select.label(0) & [True],
        "& and | combine selections",
        "wrap a mask with select.mask(...)",
    ),
    option(
        "low",
        "bounds fall",
        lambda: cal.select.output(0.9, 0.2),
        "low and high must satisfy 0 <= low <= high <= 1",
        "got 0.9 and 0.2",
    ),
    option(
        "closed",
        "unknown closed",
        lambda: cal.select.output(0.1, 0.2, closed="up"),
        "must be 'both', 'left', 'right' or 'neither'",
        "got 'up'",
    ),
]

WORDS = [
    word("n_bins", 10, "use bins"),
    word("num_bins", 10, "use bins"),
    word("strategy", "uniform", "use binning"),
    word("y_pred", P, "use y_prob"),
    word("preds", P, "use y_prob"),
    word("target", Y, "use y_true"),
    word("weights", Y, "use sample_weight"),
    word("weight", Y, "use sample_weight", metric=cal.brier),
    word("from_logits", True, "pass ece(Predictions(y_true, y_prob, input='logit'))"),
    word("counts", Y, "pass it to Predictions: ece(Predictions(y_true, y_prob, counts=...))"),
    word("average", "macro", "pass it to the lens: ece(..., lens=classwise(combine='mean'))"),
    word("p", 2, "use norm"),
    word("sample_wieght", Y, "did you mean 'sample_weight'?"),
    word("bin", 5, "did you mean 'bins'?"),
    word("zzz", 1, "ece accepts bins, binning, norm, lens"),
    word("n_bins", 10, "brier accepts scale", metric=cal.brier),
]

EVALUATE = [
    option(
        "metrics",
        "no metric",
        lambda: cal.evaluate(Y, P, metrics=[]),
        "is an empty list",
        "name at least one, for example ['ece']",
    ),
    option(
        "metric",
        "a value not evaluated",
        lambda: cal.evaluate(Y, P, metrics="ece")["brier"],
        "'brier' was not evaluated",
    ),
    option(
        "use_case",
        "unknown use case",
        lambda: cal.recommend("fast"),
        "must be one of 'classwise', 'multiclass', 'direction', 'local', 'analysis', 'parameter-free', 'safety', 'comparison', 'familiar'",
        "got 'fast'",
    ),
    bins("bins of all metrics", lambda: cal.evaluate(Y, P, bins=0), WHOLE, "got 0"),
]

metric = kind(UnknownMetricError, ValueError, "metric")
ambiguous = kind(AmbiguousMetricError, ValueError, "metric")
view = kind(InputTypeError, TypeError, "y_true")

NAMES = [
    metric(
        "misspelt metric",
        lambda: cal.catalogue["breir"],
        "unknown metric 'breir'",
        "did you mean 'brier'?",
    ),
    metric(
        "unknown metric",
        lambda: cal.catalogue["qqqqqqq"],
        "unknown metric 'qqqqqqq'",
        "`calibrant metrics` lists all metrics",
    ),
    metric("a number as metric", lambda: cal.catalogue[3], "must be a name", "got int", "for example 'ece'"),
    ambiguous(
        "MCE",
        lambda: cal.catalogue["MCE"],
        "'MCE' is the name of 3 metrics",
        "use the id: rmsce (Kumar, Liang and Ma (2019): Root mean squared calibration error)",
        "mce (Naeini, Cooper and Hauskrecht (2015): Maximum calibration error)",
    ),
    ambiguous(
        "ABC",
        lambda: cal.catalogue["abc"],
        "'abc' is the name of 3 metrics",
        "use the id: ece (Naeini, Cooper and Hauskrecht (2015): Expected calibration error)",
        "abc_above (Hagopian et al. (2023): Area between curves, above the diagonal)",
        "abc_below (Hagopian et al. (2023): Area between curves, below the diagonal)",
    ),
    option(
        "metric",
        "an id twice",
        lambda: cal.catalogue.add(cal.ece),
        "the id 'ece' is already in use",
        "choose another id",
    ),
    kind(UnknownArgumentError, TypeError, "famly")(
        "misspelt field", lambda: cal.catalogue.find(famly="bin"), "did you mean 'family'?"
    ),
    kind(InputTypeError, TypeError, "sample_weight")(
        "Predictions and weights",
        lambda: cal.ece(CHECKED, sample_weight=Y),
        "cannot be combined with Predictions",
        "pass it to Predictions(...) instead",
    ),
    view(
        "Predictions second",
        lambda: cal.ece(Y, CHECKED),
        "cannot be combined with Predictions",
        "pass the Predictions alone",
    ),
    view(
        "Predictions of Predictions",
        lambda: cal.Predictions(CHECKED),
        "cannot be combined with Predictions",
        "pass the Predictions alone",
    ),
    view(
        "a View and weights",
        lambda: cal.ece(VIEW, sample_weight=Y),
        "a view cannot be combined with other arguments",
        "pass the view alone",
    ),
    lens("a View and a lens", lambda: cal.ece(VIEW, lens="classwise"), "is determined by the view"),
    lens(
        "a VectorView for ece",
        lambda: cal.ece(cal.views.VectorView(P3, np.array(Y3), None)),
        "ece requires one score per row, and 'canonical' has several",
    ),
]

TABLE = [*BINS, *OPTIONS, *LENSES, *SELECTIONS, *WORDS, *EVALUATE, *NAMES]
