"""What the study of the survey says in words; findings are those of the full run."""

from __future__ import annotations

PAPER = (
    "Richard Oliver Lane: *A comprehensive review of classifier probability calibration metrics* (2025; preprint "
    "[arXiv:2504.18278](https://arxiv.org/abs/2504.18278), which lists 82 metrics; the later article lists 94). A "
    "review: it has no experiments of its own beyond illustrations, and asks for some in its section 7.3. "
    "Published values are those that its text gives, most of them reported from others."
)

SUMMARY = (
    "- Figures 2 to 5 come out of calibrant's own diagrams, on rows drawn as in the survey and on real ones.\n"
    "- Least biased estimate of the calibration error: `fott_pl` up to 300 rows, `fott_beta` and `ece_db` for "
    "some thousands, `ece_db` from 10 000 rows on. `drmsce_bcs`, which the survey recommends, invents least where "
    "there is no error.\n"
    "- Of what the survey reports about bias most holds, down to the 500 rows that an error of 0.1 needs. Not "
    "confirmed: that the kernel density is worst, that bins of equal mass are always better, and that `ece_lb` "
    "and `ece_knn` are less biased.\n"
    "- Metrics disagree about the best recalibration map (mean rank correlation 0.57). Where the truth is known, "
    "the Brier score ranks maps best.\n"
    "- Each metric recommended for the five use cases does what the case needs. One piece of advice is empty: "
    "averaging ESCE over bin widths changes nothing, since it does not depend on bins.\n"
    "- The catalogue holds 113 metrics in the survey's four families."
)

CURVE_TEXT = (
    "The figure shows the calibration curve of an overconfident classifier and two rows of confidence 0.7, one "
    "right and one wrong. The survey does not give the formula of its curve. Ours is sigmoid(logit(s) - 0.9), "
    "which lies below the diagonal everywhere too. Beside it stands a curve of real predictions: kernel "
    "regression over all rows of a network that is too sure."
)

LINE_TEXT = (
    "The survey draws 500 rows from the curve of figure 2, puts them into ten bins of equal width, marks each bin "
    "at its mean confidence and adds one standard error. It says that the measured line has about the shape of "
    "the true curve, that the standard error is greater near 0.5 than near 0 or 1, and that accuracy need not "
    "rise with confidence. We draw such rows a thousand times and count. All of it holds: accuracy falls "
    "somewhere in four of five draws. One standard error holds the true rate about as often as it should, but "
    "less often in the lowest bin, where the bar vanishes if no event was seen."
)

BARS_TEXT = (
    "The same rows as bars. The survey says that ECE is the absolute area between the bars and perfect "
    "calibration, and that the areas above and below add up to it. Both hold to rounding when bins are weighted "
    "by their rows."
)

ROOF_TEXT = (
    "Tilted-roof bars of Kängsepp et al. (2025): the top of each bar runs along the diagonal, so that it can be "
    "compared with it anywhere in the bin. The error of such a map fitted on the same rows is ECE itself. Its "
    "number of bins can be chosen by cross-validation; the survey reports 14 for 5 000 rows of one task. The same "
    "rule gives 12 and 14 for the two curves that bend much, 8 and 7 for two that hardly do, and 4 to 5 more or "
    "less from one sample to the next. So 14 is no constant, and the usual 10 to 20 bins are rather many for the "
    "last two."
)

BIAS_TEXT = (
    "The survey asks for a comparison on data of known miscalibration (sections 4.13 and 7.3). Here the truth is "
    "known by construction: scores follow a Beta distribution, labels are drawn from a known curve, and the true error is "
    "an integral. The imitations follow Roelofs et al. (2022): a Beta distribution and a Beta curve are fitted to real "
    "predictions, and the fit then counts as the truth. Fits to two networks on CIFAR-10 were left out before any "
    "estimator was tried on them, because they fit badly (ResNet-110: true error of the fit 0.104, `ece` of the rows 0.0475). Each number is a mean over 90 draws (100 and 300 rows), "
    "60, 30, 18 and 9 (30 000 rows), and over every third of them for the slow ones: `ici`, `fott_pl`, `sece`, "
    "`msce`, `smece`, `ece_ea`. Tables: the scenarios; the mean over all miscalibrated scenarios of the size of "
    "the bias; the bias in calibrated forecasts; the least biased and the closest estimator (least root mean "
    "square error) in each scenario; and everything, bias ± standard deviation of one estimate."
    "\n\n"
    "Which is least biased at which N? Up to 300 rows `fott_pl`: at 100 rows its mean bias is 0.016, that of "
    "`ece` with 15 bins 0.079. At 1 000 and 3 000 rows `fott_beta`, with `ece_db` and `fott_pl` close behind. "
    "From 10 000 rows on `ece_db`; all but `ece_knn`, `ece_lb` and `sece` are then off by 0.003 or less, and the "
    "order is within the noise of few draws. `fott_beta` has an advantage: it fits the very family of curves that "
    "is the truth in four of the five scenarios. In the fifth, the bump, it is still off by 0.0035 at 30 000 "
    "rows, when `ece_db` is off by 0.0001. `ece_sweep` and `ece_db` fit no curve, and are two to three times less "
    "biased than `ece` at 100 and 300 rows. In calibrated forecasts all of these estimators are biased upwards, "
    "`fott_pl` the least or nearly so, `ece_knn` from 300 rows on the most."
)

CLAIMS_TEXT = (
    "Sections 4.2, 4.5, 4.6, 4.11 and 4.13 report what others found; each line takes one sentence and counts. "
    "Rows needed: the fewest rows tried with which `ece_db` of forecasts with this true error lies above 95 % of "
    "its values for calibrated forecasts in 95 % of the draws."
    "\n\n"
    "What holds: `ece_sweep` before `ece_db` for realistic curves, `ece_db` before `ece_sweep` for calibrated "
    "ones, an ECE that falls as rows are added, and 500 rows for an error of 0.1; for 0.02 we find 15 000 and 7 "
    "500 rows, on either side of the published 10 000, depending on where the scores lie."
    "\n\n"
    "What does not: the kernel density (`skde`) is here less biased than ECE, not more. The survey itself "
    "suspects the parameters of that comparison; ours choose the bandwidth by the rows. Bins of equal mass are "
    "not less biased in all cases: with even scores both kinds of bins are the same, and where few rows have "
    "outer scores (like NBA) equal width leaves bins empty and so has fewer. `ece_lb` is more biased than `ece` "
    "nearly always: it counts how scores differ inside a bin, which for calibrated even scores and 15 bins is "
    "1/60 = 0.017 however many rows there are. It can be less biased only where ECE is too low. `ece_knn` with "
    "the default number of neighbours, the root of N, is the most biased from 300 rows on; the paper that the "
    "survey quotes chose that number partly by hand."
)

OTHER_TEXT = (
    "The same rows, other targets: the root mean square gap, the mean square gap, and metrics that have limits of "
    "their own (`smece`: its value for a million rows). The survey recommends `drmsce_bcs`, and says after Gruber "
    "and Buettner (2022) that of the metrics compared only the root Brier score and the Kolmogorov-Smirnov error "
    "(`ecce_mad`) keep their value as rows are added."
    "\n\n"
    "The recommendation holds up: `drmsce_bcs` is the least biased in calibrated forecasts up to 10 000 rows, and "
    "elsewhere far less biased than `rmsce`; `drmsce` with 15 bins is less biased still where there is an error "
    "to find. The squares `ce2_db` and `t_cal`, which may be negative, are unbiased within noise, but for what "
    "bins hide. The root Brier score keeps its value indeed. `ecce_mad` keeps it only where the error is large "
    "against what chance gives: for calibrated forecasts it falls like one over the root of N, from 0.049 at 100 "
    "rows to 0.003 at 30 000."
)

MATRIX_TEXT = (
    "Every map of the library that is fast enough is fitted on one half of each set and measured on the other by "
    "each metric; metrics then rank the maps. The matrix is the mean over sets of Spearman's correlation between "
    "two rankings, ± standard deviation over sets. The default lens of each metric is used: top label for most, "
    "every class for `cwce`, whole rows for `brier`, `nll` and `skce_uq` (kernel width 0.5 for all maps)."
    "\n\n"
    "Metrics do not agree on the best map: on no set do the four of the first table name the same one. Top-label "
    "errors agree among themselves (0.75 on the mean; `ece` and `smece` most, 0.88) more than with the Brier "
    "score (0.53). `cwce` goes with `skce_uq` (0.76): both look at all classes. `nll` stands apart because "
    "isotonic and histogram maps give probabilities of 0, and one such row that happens makes it infinite. The "
    "survey quotes Gupta et al. (2021), who found that all metrics rank the best maps alike; with 18 or 19 maps, "
    "most of them good, that is not so here."
)

FEW_ROWS_TEXT = (
    "The same metric on a few of the test rows, against its own ranking by all of them: Spearman's correlation, "
    "mean over sets and six draws, ± standard deviation over sets. A metric whose ranking changes from sample to "
    "sample cannot choose a map. Where a metric gives all maps the same value (debiased ones are cut at 0), the "
    "correlation counts as 0. `fott_pl` was too slow for this."
    "\n\n"
    "With 1 000 rows the proper scores give their final ranking best (0.87 and 0.80), all calibration errors "
    "worse (0.55 to 0.63), plain `ece` worst."
)

KNOWN_TEXT = (
    "Objective (c) of Kängsepp et al. (2025), which section 5.10 reports: the ranking by a metric against the "
    "ranking by the true error. Two classes; maps are fitted on 1 000 rows and measured on 1 000; the true error "
    "after each map comes from 100 000 further scores whose true probabilities are known. Three kinds of "
    "miscalibration (too extreme, too high, a bump), five draws of each."
    "\n\n"
    "The Brier score comes closest to the true order (0.85), ahead of every calibration error: maps of the same "
    "scores hardly differ in what they can tell apart, so what is left of the score is calibration, and no bins "
    "add noise. Of the errors `fott_pl` is first, and ahead of `fott_pl3`, as the survey says. Isotonic "
    "regression and 15 bins of equal mass, first and second in the published comparison, are fourth and seventh "
    "here; the standard error of a mean correlation is about 0.06, so places close to each other could change. "
    "Why is not known; their data (networks on CIFAR-5m) and maps were others."
)

CLASSWISE_TEXT = (
    "A pure calibration error for comparing models and recalibration: `drmsce_bcs`, with the Brier score beside "
    "it, since binned errors can be won by a constant. Checked on LeNet-5, CIFAR-10: half of the rows for a "
    "temperature, half to measure. The debiased error should also not grow much when rows are few. All three "
    "hold: the mean of 300 rows is a fifth as far from the value of all rows as that of `ece`."
)

MULTICLASS_TEXT = (
    "Full multiclass calibration: the survey says that no binned metric extends to many classes; our catalogue "
    "recommends `skce_uq`, which is unbiased and has a test. Checked on BERT, AG News (four classes): after "
    "vector scaling on half of the rows, the probabilities of the three classes below the top one change places. "
    "Predictions, confidences and so every top-label metric stay as they are; the distribution is wrong. "
    "`skce_uq` is then eleven times as large. Its test rejects all three forecasts, also the recalibrated one: "
    "with 3 000 rows it sees what is left."
)

DIRECTION_TEXT = (
    "Under- or overconfident: `esce`, and both sides apart by `abc_above` and `abc_below`. Checked against the "
    "temperature of least loss, which is above 1 for forecasts that are too sure: both say the same of 10 sets of "
    "11, and the eleventh has a temperature of 0.998."
    "\n\n"
    "The survey recommends the variant of ESCE that averages over bin widths from 0.005 to 0.05, to reduce bias. "
    "With the mean confidence of each bin that has no effect: the sum over bins of share times (mean confidence - "
    "accuracy) is the mean confidence less the accuracy, whatever the bins. The last two lines show it. There is "
    "no bias to reduce then, and bins of equal mass give the same number too."
)

LOCAL_TEXT = (
    "Local calibration: cells of group and score, `pce`. A metric of this kind should be larger for groups that "
    "mean something than for groups dealt out at random among the same rows, and should tell where it is wrong. "
    "Small cells add to it by chance; the shuffled value shows how much. Checked after repair by maps fitted on "
    "the other half of the rows: vector scaling for MMLU, an isotonic curve for COMPAS. The subjects of MMLU "
    "differ in difficulty, which one map cannot know: `pce` sees it, with a temperature or without a map as well, and the "
    "worst subjects are named. COMPAS is a control: its scores mean about the same for each race, and `pce` finds nothing."
)

ANALYSIS_TEXT = (
    "Deeper analysis: a reliability plot with intervals, because under- and overconfidence at different scores "
    "cancel in a single number. Llama 3.1 70B on MMLU shows it: its signed error is close to 0, and the plot has "
    "bins clearly on either side."
)

COUNTS_TEXT = (
    "Counted from `cal.catalogue`, in the columns of the survey's table 1: how many metrics each family has, "
    "their ranges, how many are proper, have a test of their own, or tell over- from underconfidence. The entries "
    "of that table, and the appendix that lists the 94, were not at hand in numbers, so only the total is "
    "compared. Below: the branches of figure 1."
)

PROPERTIES_TEXT = (
    "What stands behind the pros and cons of the survey's table 2. *Jump*: on rows with many equal scores, moving "
    "each by a billionth changes the value by more than 0.00001. *Won by a constant*: the base rate for every row "
    "gets the ideal value, or less where debiasing can. *Depend on order*: shuffled rows give another value. "
    "These three were tried on three samples of 300 calibrated rows of two classes, and once was enough; the rest "
    "is what the catalogue says. *Whole distribution*: looks at all classes of a row at once."
    "\n\n"
    "Three of four binned metrics jump, since a row that crosses an edge changes bins, and few kernels or curves "
    "do. Cumulative errors need no width; most jump too when equal scores are parted, because the path is then "
    "looked at between them. Most calibration errors are won by a constant; no proper score is."
)
