"""What the study of the survey says in words; findings are those of the full run."""

from __future__ import annotations

PAPER = (
    "Richard Oliver Lane: *A comprehensive review of classifier probability calibration metrics* (2025; preprint "
    "[arXiv:2504.18278](https://arxiv.org/abs/2504.18278), which lists 82 metrics; the later article lists 94). A "
    "review: it has no experiments of its own beyond illustrations, and asks for some in its section 7.3. "
    "Published values are those that its text gives, most of them reported from others."
)

SUMMARY = (
    "- Figures 2 to 5 are reproduced with calibrant's diagrams, on rows simulated as in the survey and on "
    "real ones.\n"
    "- Least biased estimate of the calibration error: `fott_pl` up to 300 rows, `fott_beta` and `ece_db` for"
    " some thousands, `ece_db` from 10 000 rows on. `drmsce_bcs`, which the survey recommends, has the "
    "smallest bias under calibration.\n"
    "- Most of what the survey reports about bias is confirmed, down to the 500 rows that an error of 0.1 "
    "needs. Not confirmed: that the kernel density is worst, that bins of equal mass are always better, and "
    "that `ece_lb` and `ece_knn` are less biased.\n"
    "- Metrics disagree about the best recalibration method (mean rank correlation 0.57). Where the truth is "
    "known, the Brier score ranks methods best.\n"
    "- Each metric recommended for the five use cases serves its purpose. One recommendation has no effect: "
    "averaging ESCE over bin widths changes nothing, since it does not depend on bins.\n"
    "- The catalogue has more than 100 metrics in the survey's four families."
)

CURVE_TEXT = (
    "The figure shows the calibration curve of an overconfident classifier and two rows of confidence 0.7, "
    "one correct and one wrong. The survey does not give the formula of its curve. Ours is sigmoid(logit(s) -"
    " 0.9), which lies below the diagonal everywhere too. The second curve is of real predictions: kernel "
    "regression over all rows of an overconfident network."
)

LINE_TEXT = (
    "The survey simulates 500 rows from the curve of figure 2, assigns them to ten bins of equal width, marks"
    " each bin at its mean confidence and adds one standard error. It states that the measured line has about"
    " the shape of the true curve, that the standard error is greater near 0.5 than near 0 or 1, and that "
    "accuracy need not rise with confidence. We simulate such rows a thousand times. All statements are "
    "confirmed: accuracy decreases somewhere in four of five simulations. One standard error covers the true "
    "rate about as often as it should, but less often in the lowest bin, where the bar vanishes without "
    "events."
)

BARS_TEXT = (
    "The same rows as bars. The survey states that ECE is the absolute area between the bars and perfect "
    "calibration, and that the areas above and below add up to it. Both are exact up to rounding if bins are "
    "weighted by their rows."
)

ROOF_TEXT = (
    "Tilted-roof bars of Kängsepp et al. (2025): the top of each bar is parallel to the diagonal, so that the"
    " gap is visible anywhere in the bin. The error of such a calibrator fitted on the same rows is ECE "
    "itself. Its number of bins can be chosen by cross-validation; the survey reports 14 for 5 000 rows of "
    "one task. The same rule gives 12 and 14 for the two strongly curved ones, 8 and 7 for two almost "
    "straight ones, and varies by 4 to 5 between samples. So 14 is not a constant, and the usual 10 to 20 "
    "bins are too many for the last two."
)

BIAS_TEXT = (
    "The survey asks for a comparison on data of known miscalibration (sections 4.13 and 7.3). Here the truth"
    " is known by construction: scores follow a Beta distribution, labels are simulated from a known curve, "
    "and the true error is an integral. The imitations follow Roelofs et al. (2022): a Beta distribution and "
    "a Beta curve are fitted to real predictions, and the fit is taken as the truth. Fits to two networks on "
    "CIFAR-10 were left out before any estimator was tried on them, because they fit badly (ResNet-110: true "
    "error of the fit 0.104, `ece` of the rows 0.0475). Each number is a mean over 90 simulations (100 and "
    "300 rows), 60, 30, 18 and 9 (30 000 rows), and over every third of them for the slow ones: `ici`, "
    "`fott_pl`, `sece`, `msce`, `smece`, `ece_ea`. Tables: the scenarios; the mean over all miscalibrated "
    "scenarios of the size of the bias; the bias for calibrated predictions; the least biased and the closest"
    " estimator (least root mean square error) in each scenario; and everything, bias ± standard deviation of"
    " one estimate.\n"
    "\n"
    "Which is least biased at which N? Up to 300 rows `fott_pl`: at 100 rows its mean bias is 0.016, that of "
    "`ece` with 15 bins 0.079. At 1 000 and 3 000 rows `fott_beta`, with `ece_db` and `fott_pl` close behind."
    " From 10 000 rows on `ece_db`; all but `ece_knn`, `ece_lb` and `sece` are then off by 0.003 or less, and"
    " the order is not significant with few simulations. `fott_beta` has an advantage: it fits the very "
    "family of curves that is the truth in four of the five scenarios. In the fifth, the bump, it is still "
    "off by 0.0035 at 30 000 rows, when `ece_db` is off by 0.0001. `ece_sweep` and `ece_db` fit no curve, and"
    " are two to three times less biased than `ece` at 100 and 300 rows. For calibrated predictions all of "
    "these estimators are biased upwards, `fott_pl` the least or nearly so, `ece_knn` from 300 rows on the "
    "most."
)

CLAIMS_TEXT = (
    "Sections 4.2, 4.5, 4.6, 4.11 and 4.13 report what others found; each line tests one statement. Rows "
    "needed: the fewest rows tried with which `ece_db` of predictions with this true error exceeds 95% of "
    "its values under calibration in 95% of the simulations.\n"
    "\n"
    "Confirmed: `ece_sweep` is better than `ece_db` for realistic curves, `ece_db` is better than `ece_sweep`"
    " for calibrated ones, an ECE that falls as rows are added, and 500 rows for an error of 0.1; for 0.02 we"
    " find 15 000 and 7 500 rows, on either side of the published 10 000, depending on where the scores lie.\n"
    "\n"
    "Not confirmed: the kernel density (`skde`) is here less biased than ECE, not more. The survey itself "
    "suspects the parameters of that comparison; we choose the bandwidth from the data. Bins of equal mass "
    "are not less biased in all cases: with even scores both kinds of bins are the same, and where few rows "
    "have extreme scores (like NBA) bins of equal width are empty, so there are fewer. `ece_lb` is more "
    "biased than `ece` nearly always: it includes the variation of scores inside a bin, which for calibrated "
    "even scores and 15 bins is 1/60 = 0.017 however many rows there are. It can be less biased only where "
    "ECE is too low. `ece_knn` with the default number of neighbours, the root of N, is the most biased from "
    "300 rows on; the paper cited by the survey chose that number partly by hand."
)

OTHER_TEXT = (
    "The same data, other targets: the root mean square gap, the mean square gap, and metrics with their own "
    "limits (`smece`: its value for a million rows). The survey recommends `drmsce_bcs`, and says after "
    "Gruber and Buettner (2022) that of the metrics compared only the root Brier score and the "
    "Kolmogorov-Smirnov error (`ecce_mad`) do not depend on the number of rows.\n"
    "\n"
    "The recommendation is confirmed: `drmsce_bcs` is the least biased for calibrated predictions up to 10 "
    "000 rows, and elsewhere far less biased than `rmsce`; `drmsce` with 15 bins is less biased still where "
    "there is an error to find. The squares `ce2_db` and `t_cal`, which may be negative, are unbiased up to "
    "simulation error, except for errors that cancel inside bins. The root Brier score does not depend on the"
    " number of rows. `ecce_mad` does not only if the error is large relative to sampling noise: for "
    "calibrated predictions it falls like one over the root of N, from 0.049 at 100 rows to 0.003 at 30 000."
)

MATRIX_TEXT = (
    "Every calibrator of the library that is fast enough is fitted on one half of each data set and evaluated"
    " on the other by each metric; metrics then rank the calibrators. The matrix is the mean over sets of "
    "Spearman's correlation between two rankings, ± standard deviation over sets. The default lens of each "
    "metric is used: top label for most, every class for `cwce`, whole rows for `brier`, `nll` and `skce_uq` "
    "(kernel width 0.5 for all calibrators).\n"
    "\n"
    "Metrics do not agree on the best calibrator: on no data set do the four of the first table agree. "
    "Top-label errors agree among themselves (0.75 on the mean; `ece` and `smece` most, 0.88) more than with "
    "the Brier score (0.53). `cwce` agrees with `skce_uq` (0.76): both use all classes. `nll` differs because"
    " isotonic regression and histogram binning give probabilities of 0, and one such outcome makes it "
    "infinite. The survey cites Gupta et al. (2021), who found that all metrics rank the best calibrators "
    "alike; with 18 or 19 calibrators, most of them good, this is not confirmed here."
)

FEW_ROWS_TEXT = (
    "The same metric on a few of the test rows, against its own ranking by all of them: Spearman's "
    "correlation, mean over sets and six resamples, ± standard deviation over sets. A metric whose ranking "
    "changes from sample to sample cannot select a calibrator. Where a metric gives all calibrators the same "
    "value (debiased ones are cut at 0), the correlation counts as 0. `fott_pl` was too slow for this.\n"
    "\n"
    "With 1 000 rows the proper scores are closest to their final ranking (0.87 and 0.80), all calibration "
    "errors worse (0.55 to 0.63), plain `ece` worst."
)

KNOWN_TEXT = (
    "Objective (c) of Kängsepp et al. (2025), which section 5.10 reports: the ranking by a metric against the"
    " ranking by the true error. Two classes; calibrators are fitted on 1 000 rows and evaluated on 1 000; "
    "the true error after each comes from 100 000 further scores whose true probabilities are known. Three "
    "kinds of miscalibration (too extreme, too high, a bump), five simulations of each.\n"
    "\n"
    "The Brier score comes closest to the true order (0.85), ahead of every calibration error: calibrators of"
    " the same scores hardly differ in discrimination, so differences of the score are differences in "
    "calibration, and there is no noise from bins. Of the errors `fott_pl` is first, and ahead of `fott_pl3`,"
    " as the survey states. Isotonic regression and 15 bins of equal mass, first and second in the published "
    "comparison, are fourth and seventh here; the standard error of a mean correlation is about 0.06, so "
    "adjacent ranks could change. The reason is unknown; their data (networks on CIFAR-5m) and calibrators "
    "were different."
)

CLASSWISE_TEXT = (
    "A pure calibration error for comparing models and recalibration: `drmsce_bcs`, with the Brier score "
    "beside it, because a constant prediction can have a small binned error. Checked on LeNet-5, CIFAR-10: "
    "half of the rows to fit a temperature, half for evaluation. The debiased error should also not grow much"
    " when rows are few. All three are confirmed: the mean of 300 rows is a fifth as far from the value of "
    "all rows as that of `ece`."
)

MULTICLASS_TEXT = (
    "Full multiclass calibration: the survey states that no binned metric extends to many classes; our "
    "catalogue recommends `skce_uq`, which is unbiased and has a test. Checked on BERT, AG News (four "
    "classes): after vector scaling on half of the rows, the probabilities of the three classes below the top"
    " one are permuted. Predictions, confidences and every top-label metric are unchanged; the distribution "
    "is wrong. `skce_uq` is then eleven times as large. Its test rejects all three sets of predictions, also "
    "the recalibrated one: with 3 000 rows the remaining error is significant."
)

DIRECTION_TEXT = (
    "Under- or overconfident: `esce`, and both sides separately by `abc_above` and `abc_below`. Checked "
    "against the temperature of least loss, which is above 1 for overconfident predictions: both agree on 10 "
    "of 11 data sets, and the eleventh has a temperature of 0.998.\n"
    "\n"
    "The survey recommends the variant of ESCE that averages over bin widths from 0.005 to 0.05, to reduce "
    "bias. With the mean confidence of each bin that has no effect: the sum over bins of share times (mean "
    "confidence - accuracy) is the mean confidence minus the accuracy, whatever the bins. The last two lines "
    "show it. So there is no bias to reduce, and bins of equal mass give the same value."
)

LOCAL_TEXT = (
    "Local calibration: cells of group and score, `pce`. Such a metric should be larger for meaningful groups"
    " than for random groups of the same rows, and should locate the error. Small cells add sampling noise; "
    "the shuffled value shows how much. Checked after recalibration on the other half of the rows: vector "
    "scaling for MMLU, an isotonic curve for COMPAS. The subjects of MMLU differ in difficulty, which one "
    "calibrator cannot account for: `pce` detects it, also with a temperature or before recalibration, and "
    "the worst subjects are named. COMPAS is a control: its scores have about the same meaning for each race,"
    " and `pce` is not significant."
)

ANALYSIS_TEXT = (
    "Deeper analysis: a reliability plot with intervals, because under- and overconfidence at different "
    "scores cancel in a single number. Llama 3.1 70B on MMLU shows it: its signed error is close to 0, and "
    "the plot has bins significantly on either side."
)

COUNTS_TEXT = (
    "Counted from `cal.catalogue`, in the columns of the survey's table 1: the number of metrics of each "
    "family, their ranges, how many are proper, have a test, or distinguish over- from underconfidence. The "
    "entries of that table, and the appendix that lists the 94, were not available in numbers, so only the "
    "total is compared. Below: the branches of figure 1."
)

PROPERTIES_TEXT = (
    "The properties behind the pros and cons of the survey's table 2. *Jump*: on rows with many equal scores,"
    " moving each by a billionth changes the value by more than 0.00001. *Won by a constant*: predicting the "
    "base rate for every row gets the ideal value, or less where debiasing can. *Depend on order*: shuffled "
    "rows give another value. These three were tested on three samples of 300 calibrated rows of two classes,"
    " and one occurrence was enough; the rest is from the catalogue. *Whole distribution*: uses all classes "
    "of a row.\n"
    "\n"
    "Three of four binned metrics jump, because a row that crosses an edge changes its bin, and few kernels "
    "or curves do. Cumulative errors need no width; most jump too when equal scores are parted, because the "
    "path is then evaluated between them. Most calibration errors are won by a constant; no proper score is."
)
