"""Public functions of other packages that calibrant does not answer, with the reason."""

from __future__ import annotations

PARTS = "inner parts: base classes, helpers, checks of input"
REGRESSION = "regression, not probabilities of classes"
RANKING = "quality of decisions or rankings, not of probabilities"
BOOSTING = "boosted trees; calibrant has `MultiCalibration`"
_NAMES: dict[str, dict[str, str]] = {
    "scikit-learn": {"direction of a trend, not calibration": "check_increasing"},
    "netcal": {
        PARTS: "AbstractLogisticRegression",
        REGRESSION: "ENCE NLL PICP PinballLoss QCE QuantileLoss UCE ReliabilityQCE ReliabilityRegression",
        "object detection: calibration as a function of boxes": "BetaCalibrationDependent LogisticCalibrationDependent",
    },
    "uncertainty-calibration": {
        PARTS: "enough_duplicates fast_bin get_bin get_bin_probs get_discrete_calibrator get_labels_one_hot get_top_predictions "
        "get_top_probs is_discrete load_test_probs_labels resample save_test_probs_labels split",
    },
    "relplot": {
        PARTS: "BaseKernelMixin CenteredRegressor GaussianKernel LogitGaussianKernel ReflectedGaussianKernel TruncatedGaussianKernel binning "
        "compute_split_densities interpolate kernel_cross kernel_smooth_basic plot_line prepare_rel_diagram "
        "prepare_rel_diagram_binned search_param set_default_style smooth_round_to_grid RecalibratedEstimator",
        "its minimum over random bins; calibrant computes the distance to calibration itself (`dce`, `smce`)": "intCE_rand",
    },
    "probmetrics": {
        PARTS: "AllSplitter ApplyToLogitsCalibrator CVSplitter Calibrator CategoricalDirac CategoricalDistribution CategoricalLogits "
        "CategoricalProbs ClassificationMetric CombinedMetrics ContinuousDistribution Distribution IdentityEstimator Metric MetricType Metrics "
        "MulticlassOneVsRestCalibrator SelectMetric SklearnClassificationMetric Splitter TorchmetricsClassificationMetric "
        "WS_CatboostClassifier WrapCalibratorAsClassifier binary_probs_to_logits bisection_search expand_binary_probs fit_affine_scaling "
        "fit_matrix_scaling fit_quadratic_scaling fit_vector_scaling flatten_binary_probs get_calibrator logloss_np "
        "multiclass_probs_to_logits remove_missing_classes validate_probabilities warm_up_affine_scaling warm_up_matrix_scaling "
        "warm_up_quadratic_scaling warm_up_vector_scaling",
        REGRESSION: "CRPS MAE MSE NMAE NRMSE NormalizedPinballLoss PinballLoss RMSE RegressionMetric",
        RANKING: "AUROCOneVsOneSklearn AUROCOneVsRestSklearn OneMinusAUROCOneVsRest BalancedAccuracy",
        "boosted trees": "BinaryCatBoostCalibrator CatBoostCalibrator InitLogitCatBoostCalibrator LightGBMCalibrator XGBoostCalibrator",
        "need packages that are not installed with it": "CenteredIsotonicRegressionCalibrator MLISplineCalibrator "
        "TorchUncertaintyTemperatureScalingCalibrator TorchcalTemperatureScalingCalibrator DirichletCalibrator",
        "estimates of the calibration error by cross-validated recalibration; calibrant reports what recalibration gains "
        "(`recalibrate`)": "MetricsWithCalibration ProperLpLoss ConfidenceLoss OverConfidenceLoss UnderConfidenceLoss MeanProbNormalizedMetric",
        "penalties of its own": "RegularizedAffineScalingCalibrator RegularizedQuadraticScalingCalibrator SMSCalibrator SVSCalibrator "
        "LogisticCalibrator SoftPlusCalibrator",
    },
    "probcal": {
        PARTS: "BaseCalibrator bern_loglik bin_stats chi2_ppf chi2_sf corp_bands corp_fit decompose expit gram irls_logistic is_uniform loess "
        "logit rao_scott shrink_interval validate_binary_y validate_level validate_nonneg_int validate_positive_int validate_weights",
        "rating scales": "Masterscale build_masterscale calibrated_bands_to_raw calibrated_interval_to_raw plot_interval",
        "explanations of predictions": "adjust_attributions",
        "margins of conservatism": "moc_offset moc_offset_from_counts",
        "apply two calibrators in turn": "Chain",
    },
    "MCGrad": {
        PARTS: "BaseCalibrator BinningMethodInterface IdentityCalibrator create_kbins_discretizer get_segment_masks groupby_apply "
        "wrap_multicalibration_error_metric wrap_sklearn_metric_func",
        RANKING: "dcg_score fpr fpr_at_precision fpr_with_mask multi_cg_score ndcg_score precision precision_at_predictive_prevalence "
        "precision_at_recall rank_calibration_error rank_multicalibration_error recall recall_at_precision",
        BOOSTING: "MCGrad plot_learning_curve",
        REGRESSION: "RegressionMCGrad",
    },
    "MAPIE": {PARTS: "add_jitter check_is_fitted sort_xy_by_y"},
    "pycaleva": {"groups are an argument of each call (`bins=`, `binning=`)": "group_data merge_groups"},
    "calzone-tool": {
        PARTS: "data_loader get_CI logit_func loss removing_nan softmax_to_logits",
        RANKING: "make_roc_curve plot_roc_curve",
    },
    "venn-abers": {
        PARTS: "adjust_categorical_test adjust_categorical_train geo_mean",
        REGRESSION: "VennAbersRegressor",
    },
    "calibstats": {PARTS: "to_confidence_accuracy"},
    "calibre": {
        PARTS: "BaseCalibrator CalibrationReport DecisionPolicy DecisionReport DecisionSelection DecisionTask MonotonicMixin make_folds",
        "needs thresholds or increments that the user chooses": "CDIIsotonicCalibrator RelaxedPAVACalibrator",
        "ties and plateaus that a calibrator makes": "correlation_metrics detect_plateaus run_plateau_diagnostics tie_preservation_score "
        "unique_value_counts miscalibration_profile",
        "allocation of a limited capacity": "evaluate_decision_policy select_decision_policy",
    },
    "dirichletcal": {PARTS: "DirichletCalibrator"},
    "torch-uncertainty": {
        PARTS: "PostProcessing",
        REGRESSION: "BetaNLL DERLoss DistributionNLLLoss PinballLoss ConformalRegCQR",
        "conformal prediction sets": "Conformal ConformalClsAPS ConformalClsRAPS ConformalClsTHR CoverageRate SetSize",
        "ensembles, Bayesian and evidential networks": "ConflictualLoss DECLoss DEUP Disagreement ELBOLoss KLDiv LaplaceApprox MCBatchNorm "
        "MutualInformation VariationRatio Entropy",
        "out-of-distribution detection combined with selective prediction": "FPR95 FPRx SCODAUGRC SCODAURC SCODCovAt5Risk SCODCovAtxRisk "
        "SCODRiskAt80Cov SCODRiskAtxCov",
        "needs the features of a network": "GroupingLoss",
        "training losses without a counterpart": "CrossEntropyMaxSupLoss",
    },
    "R CalibrationCurves": {"outcomes of other distributions, such as counts": "genCalCurve"},
    "R dcurves": {RANKING: "test_consequences"},
}
OUTSIDE: dict[str, dict[str, list[str]]] = {
    peer: {reason: names.split() for reason, names in reasons.items()} for peer, reasons in _NAMES.items()
}
"""By package and reason."""
