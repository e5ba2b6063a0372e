"""The rooms of the reference: which modules stand on which page, under which heading."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ROOMS", "SPOKEN", "Room", "Section"]


class Section(NamedTuple):
    """A heading of a room, and the modules whose public names stand under it."""

    title: str
    modules: tuple[str, ...]


class Room(NamedTuple):
    """A page: what it is about, the guide that tells it as a story, and its sections."""

    title: str
    about: str
    guide: str
    sections: tuple[Section, ...]


ROOMS = {
    "measure": Room(
        "Measure",
        "From labels and probabilities to numbers.",
        "start.md",
        (
            Section(
                "Many metrics at once",
                (
                    "evaluation.measure",
                    "evaluation.result",
                    "clinical.performance",
                    "evaluation.confidence",
                    "evaluation.discrimination",
                    "evaluation.recommendation",
                    "evaluation.subgroups",
                    "evaluation.certificates",
                    "evaluation.studies",
                ),
            ),
            Section("Time to event", ("clinical.survival", "clinical.censoring")),
            Section("The catalogue", ("metrics.registry",)),
            Section(
                "Curves and parts",
                ("metrics.reliability_curve", "binning.table", "metrics.decomposition", "metrics.grouping"),
            ),
            Section("Bins", ("binning.rules", "binning.searches", "binning.partition")),
            Section("Which question", ("views.lenses",)),
            Section("Which rows", ("views.selections",)),
            Section("What is measured", ("input.predictions", "input.missing", "input.unjoined", "views.view")),
            Section(
                "Logs of language models", ("input.language_models", "input.evaluation_logs", "input.stated_confidence")
            ),
            Section("Distances from feedback", ("metrics.matrix_learning",)),
            Section("Continuous outcomes", ("metrics.continuous", "metrics.mixtures")),
            Section("Data with a known error", ("inference.simulation.simulate", "inference.simulation.*")),
            Section("Curves that can be fitted", ("curves.*",)),
            Section("Errors and warnings", ("errors",)),
            Section("Validation of the installation", ("validation.*",)),
        ),
    ),
    "assess": Room(
        "Assess",
        "Tests, intervals, comparisons, sample sizes.",
        "assess.md",
        (
            Section(
                "Tests",
                (
                    "inference.significance",
                    "inference.verdicts",
                    "inference.belt",
                    "inference.grades",
                    "inference.distributions",
                ),
            ),
            Section("Several classes", ("inference.multinomial",)),
            Section("Continuous forecasts", ("inference.continuous",)),
            Section("Tests that may be looked at any time", ("inference.sequential", "inference.multiplicity")),
            Section("Intervals and bands", ("inference.intervals", "inference.bands")),
            Section("Small enough?", ("inference.equivalence",)),
            Section("Comparisons", ("inference.comparison",)),
            Section(
                "Centres and periods", ("clinical.group_validation", "clinical.pooled_curves", "inference.pooling")
            ),
            Section(
                "Internal validation",
                (
                    "clinical.optimism",
                    "clinical.updating",
                ),
            ),
            Section("Sample sizes", ("inference.power_analysis", "inference.precision")),
            Section("Judges", ("inference.judges",)),
        ),
    ),
    "show": Room(
        "Show",
        "Figures and the report. The [gallery](../gallery.md) has a picture of each figure.",
        "show.md",
        (
            Section(
                "Reliability",
                (
                    "figures.reliability_diagrams",
                    "figures.survival_diagrams",
                    "figures.panels",
                    "figures.optimism",
                    "figures.group_curves",
                    "figures.calibrator_curves",
                ),
            ),
            Section(
                "Without bins, and over whole rows",
                ("figures.differences", "figures.variations"),
            ),
            Section(
                "Scores and choices", ("figures.topk", "figures.selective", "figures.murphy", "figures.decompositions")
            ),
            Section("Risk models", ("figures.flexible_curves", "figures.belts", "figures.decision_curves")),
            Section(
                "Where the error lies",
                (
                    "figures.intervals",
                    "figures.classgroups",
                    "figures.groupconfidence",
                    "figures.features",
                    "figures.forest",
                    "figures.stability",
                ),
            ),
            Section("The report", ("reporting.building", "reporting.tripod_items")),
            Section("Experiment trackers", ("trackers.*",)),
        ),
    ),
    "improve": Room(
        "Improve",
        "Calibrators: from scores to calibrated probabilities.",
        "improve.md",
        (
            Section(
                "Choose and keep a calibrator",
                ("recalibration.choosing", "recalibration.persistence", "recalibration.base", "recalibration.scores"),
            ),
            Section("Scaling of logits", ("recalibration.scaling", "recalibration.structured")),
            Section("Curves for two classes", ("recalibration.binary",)),
            Section("Bins", ("recalibration.binning",)),
            Section("With intervals, and by order", ("recalibration.venn", "recalibration.ordered")),
            Section("Groups", ("recalibration.grouped",)),
            Section("Events of several classes or labels", ("recalibration.targets", "recalibration.multilabel")),
            Section(
                "Chains, and use without calibrant",
                ("recalibration.chains", "recalibration.exporting", "recalibration.onnx_models"),
            ),
            Section("Uncertainty of a calibrated probability", ("recalibration.intervals",)),
            Section("A bound on overconfidence", ("recalibration.safe",)),
            Section(
                "With features, and between retrainings",
                ("recalibration.boosted", "recalibration.revision", "recalibration.online"),
            ),
            Section(
                "Other data than the model was made for", ("recalibration.adjust", "recalibration.class_temperature")
            ),
            Section("Inside scikit-learn", ("sklearn.*",)),
        ),
    ),
    "decide": Room(
        "Decide",
        "Thresholds with guarantees, costs, review, out-of-distribution scores.",
        "decide.md",
        (
            Section("Thresholds and abstention", ("decision.thresholds", "decision.selective", "decision.areas")),
            Section("Costs and review", ("decision.costs", "decision.routing")),
            Section("Words and bounds", ("decision.likert", "decision.low_default")),
            Section("Out-of-distribution rows", ("decision.ood.detection", "decision.ood.scores")),
        ),
    ),
    "watch": Room(
        "Watch",
        "Calibration over time.",
        "monitor.md",
        (
            Section(
                "The monitor",
                (
                    "monitoring.monitor",
                    "monitoring.fleet",
                    "monitoring.retention",
                    "monitoring.status",
                    "monitoring.calibration",
                    "monitoring.certified",
                    "monitoring.online",
                    "monitoring.changepoint",
                    "monitoring.drift",
                    "monitoring.ood",
                    "monitoring.labelfree",
                    "monitoring.performance",
                    "monitoring.sequential",
                    "monitoring.windows",
                    "reporting.timeline",
                ),
            ),
        ),
    ),
    "any-size": Room(
        "Any size",
        "Files larger than memory, sketches that add up, and a cluster.",
        "scale.md",
        (
            Section("Files", ("sketches.files.scanning",)),
            Section("Warehouses", ("sketches.warehouse",)),
            Section("Sketches", ("sketches.collection", "sketches.sketch")),
            Section("Spark", ("spark.*",)),
        ),
    ),
    "torch": Room(
        "PyTorch",
        "`import calibrant.torch as ct`: from a model and a loader to calibrated probabilities.",
        "torch.md",
        (
            Section("Models, metrics and modules", ("torch.*",)),
            Section("Lightning", ("torch.lightning.*",)),
            Section("Losses", ("torch.losses.*",)),
        ),
    ),
}
# How the names of a module are written in code; all others are names of calibrant itself.
SPOKEN = {
    "inference.simulation.*": "cal.inference.simulation.",
    "curves.*": "cal.curves.",
    "sklearn.*": "calibrant.sklearn.",
    "spark.*": "calibrant.spark.",
    "torch.*": "ct.",
    "torch.lightning.*": "ct.lightning.",
    "trackers.*": "calibrant.trackers.",
    "validation.*": "cal.validation.",
    "torch.losses.*": "ct.losses.",
}
