"""What the full run shows, in words."""

from __future__ import annotations

SUMMARY = (
    "ECD and its critical values are reproduced where the paper gives sufficient detail: critical values on "
    "Adult and Telco are within 12% of the published ones, and ECD after Platt scaling and isotonic "
    "regression within 1.3 standard deviations over seeds. ECD of the uncalibrated networks does not (0.13 "
    "against 0.23 on Adult, 0.11 against 0.04 on Telco); it depends on the batch size by a factor of three, "
    "and that is not stated. The claim that ECE accepts Telco's network while ECD rejects it is reproduced "
    "only if T-Cal's number of bins is chosen again in each simulation; with 15 bins ECE rejects it, too. "
    "Equation 15, the form for several classes, is not centred at 0 for calibrated predictions, which would "
    "explain the large published critical values; equation 11 is. Gaussian ECD is (NEES - d) / 2, and its "
    "verdict differs from that of two-sided NEES if a filter is underconfident. The CIFAR and ImageNet "
    "networks are not the paper's own."
)

PREPARED = (
    "A network of 64 and 32 hidden units (ReLU), {epochs} epochs of Adam. The paper does not state how rows "
    "were split and prepared, the size of batches, the learning rate, what the calibrator was fitted on, or "
    "what was done with probabilities of 0 and 1. Chosen here: all rows of the two Adult files together (`?` "
    "is a separate category), all rows of Telco without the customer id (an empty total charge is 0); "
    "categories one-hot encoded, numbers standardized by the training rows; each seed splits the rows "
    "randomly, 60% for training, 20% for recalibration, 20% for testing; batches of {batch}, learning rate"
    " 0.001; probabilities clipped to a distance of {floor} from 0 and 1. ECE and MCE take equal-width bins "
    'whose number is chosen by T-Cal\'s rule (`bins="tcal"`); the paper does not state whether it is then '
    "fixed or chosen again for each simulated set of labels, so both are given. Critical values are the 95% "
    "quantiles of consistency resampling, with rows resampled and labels simulated from their scores, {draws}"
    " draws and {few} where bins are chosen again. Our values are means over {seeds} seeds."
)

BINARY = (
    "- **Critical values of ECD agree**, within 12% in all six columns.\n"
    "- **ECD before recalibration** is rejected in all seeds on both sets, as published. Its value is not "
    "that of the paper: lower on Adult, higher on Telco. The next section shows what it depends on.\n"
    "- **ECD after recalibration** agrees within 1.3 standard deviations over seeds in all four columns. This"
    " standard deviation is as large as the values: the verdict depends on the random split. Platt scaling on"
    " Telco, rejected in the paper, is rejected in 1 of 10 seeds; isotonic regression in 5 of 10 on Adult "
    "(published: accepted) and 6 of 10 on Telco (published: rejected).\n"
    "- **ECE on Adult** is lower than published before recalibration and with Platt scaling, higher with "
    "isotonic regression. With fixed bins, critical values are within a third of the published ones and the "
    "verdicts before recalibration and with Platt scaling are the same.\n"
    "- **ECE on Telco** is accepted in all columns of the paper. Here the uncalibrated network is rejected in"
    " all seeds with fixed bins, and in none with bins chosen again. The paper concludes that a model may be "
    "calibrated by ECE and still be overconfident by ECD. With a fixed number of 15 bins ECE rejects the "
    "uncalibrated network in all seeds too (next section): its overconfidence is hidden by the search for the"
    " number of bins.\n"
    "- **MCE** is near 0.94 in all columns of the paper. T-Cal's rule chooses 2 bins for the uncalibrated "
    "networks here, and MCE is below 0.1 on average. After recalibration the rule chooses between 2 and 4096 "
    "bins, and MCE varies accordingly. No conclusion is possible."
)

REASONS = (
    "The tables follow in this order.\n"
    "\n"
    "- **Batches and epochs.** Overconfidence grows with training. Batches of 32 in place of 256 make ECD "
    "about three times as large. The published value for Adult lies between the two; that for Telco is "
    "reached after about 50 epochs with batches of 256, or 20 with batches of 32, and then passed (figure). "
    "Whether the authors used large batches or regularization is not known.\n"
    "- **The number of bins.** T-Cal's rule chooses the number with the largest standardized error. Kept "
    "fixed, it rejects half of all calibrated sets of labels instead of one in twenty (second and third "
    "table), so it is not a valid test. Chosen again in each simulation, the level is exact by construction, "
    "but calibrated rows often lead to hundreds of bins (as those of Telco with Platt scaling do); before "
    "recalibration and with Platt scaling the critical value of ECE rises to 0.11 and more and that of MCE to"
    " 0.92 and more, and almost nothing is rejected. Fifteen bins have the correct level, too, and detect the"
    " overconfident networks in every seed.\n"
    "- **MCE near 0.94** appears from 256 bins on for Telco and 1024 for Adult (fourth table), where bins "
    "contain single rows. ECE in those bins is 0.13 and 0.09, not the published 0.04 and 0.07: the published "
    "ECE and MCE can hardly be those of the same bins.\n"
    "- **Probabilities of 0 and 1.** Isotonic regression produces them, and one such row with the other label"
    " makes ECD infinite: in 7 of 10 seeds on each set. The clipping, which the paper does not state, changes"
    " ECD of Telco by a factor of two (fifth table).\n"
    "- **Rows.** Critical values of ECD decrease with the square root of the number of test rows. The "
    "published ones correspond to about 8700 to 10 200 rows of Adult, which a fifth of all rows (9768) fits, "
    "and for about 1150 of Telco, less than a fifth (1409)."
)

IMAGES = (
    "The paper's networks (ResNet32 and VGG-19) are not available. These are **other networks** on the same "
    "images, with predictions published by others; the published values of the most similar network are shown"
    " for comparison and cannot be expected to agree. As in the paper, a temperature is fitted on a fifth of "
    "the test set; everything, before and after, is measured on the other four fifths. Five such splits; "
    "critical values from 99 simulations (49 where bins are chosen again). Temperatures: {temperatures}.\n"
    "\n"
    "- **What agrees.** Every network is overconfident before the temperature and both forms of ECD show it "
    "in all splits; ECE with fixed bins rejects in all of them. Critical values are close to the published "
    "ones, although the networks differ: with fixed bins 0.003 to 0.008 for ECE (published 0.003 to 0.014 for"
    " CIFAR), and for equation 15 of ECD 0.017 for VGG-16 (published 0.014 for VGG-19) and 0.59 for CIFAR-100"
    " (published 0.52). With bins chosen again, critical values of ECE are seven to sixteen times as high, so"
    " the paper seems to have used fixed bins here. Verdicts of MCE with fixed bins agree in five of the six "
    "columns that have a similar network.\n"
    "- **What differs.** After the temperature ECD is rejected in one or two splits of five here, and in all "
    "CIFAR columns of the paper. The published temperatures are not known; published ECE after scaling (0.14 "
    "for VGG-19 on CIFAR-100, which has no similar network here) suggests that theirs removed only part of "
    "the overconfidence. Values of MCE are determined by the bin with the fewest rows and do not agree.\n"
    "- **Equation 15 is not centred.** The paper's form for several classes, true class against the rest, "
    "does not have mean 0 for calibrated predictions: the column *if calibrated* gives its mean for labels "
    "simulated from the scores, up to 0.8 for an underconfident network. The published critical values of up "
    "to 4.13 for CIFAR-100 and ImageNet must be mostly this mean. A value of 0.88 under a critical value of "
    "4.13 (ImageNet, ResNet50) is then far *below* the value under calibration, which is underconfidence. "
    "Equation 11, the general definition, is centred at 0 whatever the scores, and its critical values are "
    "about 30 times smaller for CIFAR-100. The excess of equation 15 over its centre is near equation 11 in "
    "every line, and the two reject equally often here.\n"
    "- **The temperature shifts the centre, too.** For LeNet-5 equation 15 falls from 0.96 to 0.84 and seems "
    "hardly improved; its excess falls from 0.42 to 0.02.\n"
    "- **The top label behaves differently.** On CIFAR-100 a temperature that makes ECD of the whole vector "
    "small leaves the top label overconfident (last column)."
)

IMAGENET = (
    "These data contain the confidence of the top label and whether it was correct, which suffices for ECE "
    "and MCE of the top label. It is not enough for ECD: equations 11 and 15 need the probability of the true"
    " class, which is unknown where the top label is wrong, and equation 11 the whole vector. Confidences "
    "allow equation 14 for the event that the top label is correct, which is given in the table; it has no "
    "published counterpart. Nor can a temperature be fitted, which needs logits. Bins are fixed; 99 "
    "simulations.\n"
    "\n"
    "- **ECE of 0.05 to 0.08 compare with 0.41 published.** The paper calls its ResNet50 mostly "
    "underconfident (figure 4a), and these are other networks with other weights. Critical values are of the "
    "same size (0.003 to 0.004 against 0.0066).\n"
    "- **ECD separates what ECE does not.** ECE and MCE reject all eight networks. ECD rejects four of them "
    "and accepts the four underconfident ones (negative values).\n"
    "- **Confidences of 1 in 32 bits** with a wrong answer (one row of ResNet-101, three of DenseNet-161 in "
    "50 000) make ECD infinite. The values given are those after clipping."
)

FOLLOWED = (
    "Not in the paper as an experiment: section 4.2 proves that Gaussian ECD is (NEES - d) / 2. A target "
    "moves with nearly constant speed along two axes (state of 4 numbers), its position is measured with "
    "noise, and a linear Kalman filter follows it. Statistics are means over {targets} independent targets at"
    " step {steps} (errors of one target at successive steps are dependent, so steps are not pooled), {seeds}"
    " seeds. `assess_gaussian` tests NEES on both sides and ECD on the upper side, both exactly by the chi-square distribution. "
    "The last two columns use the whole track: ECD at every step with Holm's adjustment, which is valid although steps are "
    "dependent, and the innovations of all steps together, which are independent if the filter is correct. Theory "
    "propagates the true covariance of the errors through the gains of the filter."
)

SAFE = (
    "Not in the paper as an experiment: its section 6 proposes ECD as an objective and its integration into recalibration, to make "
    "probabilities safer. As an objective for a temperature, an ECD of 0 is the condition of maximum likelihood, so that temperature scaling "
    "fulfils it already, and is overconfident on new rows in about half of the cases. `SafeCalibration` bounds the overconfidence (mean "
    "confidence minus accuracy of the top label) instead: it is at most 0 with a probability of 95%. Both were fitted on a fifth of "
    "the rows, as for table 3, and measured on the rest; means over five splits. Tests are one-sided at 5%.\n"
    "\n"
    "- **Temperature scaling** is overconfident in 17 of 25 splits, and ECD rejects safety in 8 of them.\n"
    "- **Safe temperature scaling** is overconfident in none, and ECD rejects none. Its bound concerns the top label; that ECD of the whole "
    "vector is safe, too, is an observation, not a guarantee.\n"
    "- **The cost** is between 0.003 and 0.014 of nll, and at most 0.002 of the Brier score, with 1000 held-out rows for the bound. "
    "The probabilities are then underconfident by 1 to 3 percentage points, which ECE counts as an error."
)

TRACKER = (
    "ECD is (NEES - 4) / 2 to rounding in all cases, as proved, and with exact critical values the one-sided verdicts of the two never "
    "differ. (With 199 simulated states in place of the chi-square distribution, two of 700 verdicts differed: an error of the "
    "simulated critical value.) The correct filter is rejected at about the nominal rate. Every overconfident "
    "filter is detected by both. An underconfident filter is detected by two-sided NEES and accepted by ECD, "
    "which tests for overconfidence only: that is what the paper means by safe. The scale is asymmetric: "
    "noise assumed half as large moves ECD by +2, noise assumed twice as large by -1. The tests over the whole track have the same "
    "verdicts; 9 rejections of the correct filter in 100 seeds are within the simulation error of 5% (in 1000 seeds there were 48)."
)


def images(temperatures: str) -> str:
    """The findings for CIFAR."""
    return IMAGES.format(temperatures=temperatures)
