"""The papers behind the metrics, by key."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["REFERENCES", "Reference"]


class Reference(NamedTuple):
    """A paper; `doi` and `arxiv` are empty where none is known to us."""

    authors: str
    year: int
    title: str
    venue: str = ""
    doi: str = ""
    arxiv: str = ""

    def __str__(self) -> str:
        where = f" {self.venue}." if self.venue else ""
        number = f" doi:{self.doi}" if self.doi else f" arXiv:{self.arxiv}" if self.arxiv else ""
        return f"{self.authors} ({self.year}): {self.title}.{where}{number}"

    @property
    def url(self) -> str:
        """Where to read it; empty where unknown."""
        return (
            f"https://doi.org/{self.doi}" if self.doi else f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""
        )


REFERENCES = {
    "ao2023": Reference(
        "Ao, Rueger and Siddharthan",
        2023,
        "Two sides of miscalibration: identifying over and under-confidence prediction for network calibration",
        "UAI",
        arxiv="2308.03172",
    ),
    "brier1950": Reference(
        "Brier",
        1950,
        "Verification of forecasts expressed in terms of probability",
        "Monthly Weather Review 78",
        doi="10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2",
    ),
    "good1952": Reference(
        "Good",
        1952,
        "Rational decisions",
        "Journal of the Royal Statistical Society B 14",
        doi="10.1111/j.2517-6161.1952.tb00104.x",
    ),
    "gruber2022": Reference(
        "Gruber and Buettner",
        2022,
        "Better uncertainty calibration via proper scores for classification and beyond",
        "NeurIPS",
        arxiv="2203.07835",
    ),
    "guo2017": Reference(
        "Guo, Pleiss, Sun and Weinberger", 2017, "On calibration of modern neural networks", "ICML", arxiv="1706.04599"
    ),
    "hagopian2023": Reference(
        "Hagopian et al.",
        2023,
        "Area between curves, or integrated calibration error, as named in the survey of classifier calibration metrics",
    ),
    "hebbalaguppe2022": Reference(
        "Hebbalaguppe, Prakash, Madan and Arora",
        2022,
        "A stitch in time saves nine: a train-time regularizing loss for improved neural network calibration",
        "CVPR",
        arxiv="2203.13834",
    ),
    "kull2019": Reference(
        "Kull, Perello-Nieto, Kaengsepp, Silva Filho, Song and Flach",
        2019,
        "Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with Dirichlet calibration",
        "NeurIPS",
        arxiv="1910.12656",
    ),
    "kumar2019": Reference(
        "Kumar, Liang and Ma", 2019, "Verified uncertainty calibration", "NeurIPS", arxiv="1909.10155"
    ),
    "laves2019": Reference(
        "Laves, Ihler, Kortmann and Ortmaier",
        2019,
        "Well-calibrated model uncertainty with temperature scaling for dropout variational inference",
        "NeurIPS workshop on Bayesian deep learning",
        arxiv="1909.13550",
    ),
    "naeini2015": Reference(
        "Naeini, Cooper and Hauskrecht",
        2015,
        "Obtaining well calibrated probabilities using Bayesian binning",
        "AAAI",
        doi="10.1609/aaai.v29i1.9602",
    ),
    "nixon2019": Reference(
        "Nixon, Dusenberry, Jerfel, Nguyen, Liu, Zhang and Tran",
        2019,
        "Measuring calibration in deep learning",
        "CVPR workshops",
        arxiv="1904.01685",
    ),
    "roelofs2022": Reference(
        "Roelofs, Cain, Shlens and Mozer",
        2022,
        "Mitigating bias in calibration error estimation",
        "AISTATS",
        arxiv="2012.08668",
    ),
    "sumler2025": Reference(
        "Sumler, Devlin, Maskell and Lane",
        2025,
        "An entropic metric for measuring calibration of machine learning models",
        "TRUST-AI at ECAI, CEUR Workshop Proceedings 4132",
    ),
    "thompson2026": Reference(
        "Thompson and Desai", 2026, "Extending confidence calibration to generalised measures of variation"
    ),
    "vaicenavicius2019": Reference(
        "Vaicenavicius, Widmann, Andersson, Lindsten, Roll and Schoen",
        2019,
        "Evaluating model calibration in classification",
        "AISTATS",
        arxiv="1902.06977",
    ),
    "bella2013": Reference(
        "Bella, Ferri, Hernandez-Orallo and Ramirez-Quintana",
        2013,
        "On the effect of calibration in classifier combination",
        "Applied Intelligence 38",
    ),
    "bihani2023": Reference("Bihani and Rayz", 2023, "Calibration error estimation using fuzzy binning"),
    "blasiok2023": Reference(
        "Blasiok, Gopalan, Hu and Nakkiran",
        2023,
        "A unifying theory of distance from calibration",
        "STOC",
        arxiv="2211.16886",
    ),
    "bohdal2023": Reference(
        "Bohdal, Yang and Hospedales",
        2023,
        "Meta-calibration: learning of model calibration using differentiable expected calibration error",
        "TMLR",
        arxiv="2106.09613",
    ),
    "cabitza2022": Reference(
        "Cabitza, Campagner and Famiglini",
        2022,
        "Global interpretable calibration index, a new metric to estimate machine learning models' calibration",
    ),
    "cox1958": Reference(
        "Cox",
        1958,
        "Two further applications of a model for binary regression",
        "Biometrika 45",
        doi="10.1093/biomet/45.3-4.562",
    ),
    "dawid1999": Reference(
        "Dawid and Sebastiani",
        1999,
        "Coherent dispersion criteria for optimal experimental design",
        "Annals of Statistics 27",
    ),
    "dawkins2022": Reference(
        "Dawkins and Nejadgholi",
        2022,
        "Region-dependent temperature scaling for certainty calibration and application to class-imbalanced token classification",
        "ACL",
    ),
    "deleeuw2009": Reference(
        "de Leeuw, Hornik and Mair",
        2009,
        "Isotone optimization in R: pool-adjacent-violators algorithm and active set methods",
        "Journal of Statistical Software 32",
        doi="10.18637/jss.v032.i05",
    ),
    "epstein1969": Reference(
        "Epstein",
        1969,
        "A scoring system for probability forecasts of ranked categories",
        "Journal of Applied Meteorology 8",
    ),
    "galbraith2011": Reference(
        "Galbraith and van Norden",
        2011,
        "Kernel-based calibration diagnostics for recession and inflation probability forecasts",
        "International Journal of Forecasting 27",
    ),
    "gneiting2007": Reference(
        "Gneiting and Raftery",
        2007,
        "Strictly proper scoring rules, prediction, and estimation",
        "JASA 102",
        doi="10.1198/016214506000001437",
    ),
    "gupta2021": Reference(
        "Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu and Hartley",
        2021,
        "Calibration of neural networks using splines",
        "ICLR",
        arxiv="2006.12800",
    ),
    "hosmer1980": Reference(
        "Hosmer and Lemeshow",
        1980,
        "Goodness of fit tests for the multiple logistic regression model",
        "Communications in Statistics 9",
        doi="10.1080/03610928008827941",
    ),
    "huang2022": Reference(
        "Huang et al.",
        2022,
        "MBCT: tree-based feature-aware binning for individual uncertainty calibration",
        "WWW",
        arxiv="2202.04348",
    ),
    "huber1964": Reference(
        "Huber",
        1964,
        "Robust estimation of a location parameter",
        "Annals of Mathematical Statistics 35",
        doi="10.1214/aoms/1177703732",
    ),
    "kaengsepp2025": Reference(
        "Kaengsepp, Valk and Kull",
        2025,
        "On the usefulness of the fit-on-test view on evaluating calibration of classifiers",
    ),
    "karandikar2021": Reference(
        "Karandikar et al.", 2021, "Soft calibration objectives for neural networks", "NeurIPS", arxiv="2108.00106"
    ),
    "kelly2023": Reference(
        "Kelly and Smyth",
        2023,
        "Variable-based calibration for machine learning classifiers",
        "AAAI",
        arxiv="2209.15154",
    ),
    "lee2023": Reference(
        "Lee, Huang, Hassani and Dobriban",
        2023,
        "T-Cal: an optimal test for the calibration of predictive models",
        "JMLR 24",
        arxiv="2203.01850",
    ),
    "lin2017": Reference(
        "Lin, Goyal, Girshick, He and Dollar", 2017, "Focal loss for dense object detection", "ICCV", arxiv="1708.02002"
    ),
    "matsubara2023": Reference(
        "Matsubara, Tax, Mudd and Guy",
        2023,
        "TCE: a test-based approach to measuring calibration error",
        "UAI",
    ),
    "moore2022": Reference(
        "Moore et al.", 2022, "Normalised squared error score, as named in the survey of classifier calibration metrics"
    ),
    "pan2020": Reference(
        "Pan et al.",
        2020,
        "Field-aware calibration: a simple and empirically strong method for reliable probabilistic predictions",
        "WWW",
        arxiv="1905.10713",
    ),
    "peng2023": Reference(
        "Peng et al.",
        2023,
        "Nearest-neighbour calibration error, as named in the survey of classifier calibration metrics",
    ),
    "petersen2023": Reference(
        "Petersen, Ganz, Holm and Feragen",
        2023,
        "On (assessing) the fairness of risk score models",
        "FAccT",
        arxiv="2302.08851",
    ),
    "roechner2024": Reference(
        "Roechner et al.",
        2024,
        "Equiareal binning, as named in the survey of classifier calibration metrics",
        "Data Mining and Knowledge Discovery",
    ),
    "rossellini2025": Reference(
        "Rossellini et al.", 2025, "Can a calibration metric be both testable and actionable?", arxiv="2502.19851"
    ),
    "sanders1963": Reference(
        "Sanders", 1963, "On subjective probability forecasting", "Journal of Applied Meteorology 2"
    ),
    "spiegelhalter1986": Reference(
        "Spiegelhalter",
        1986,
        "Probabilistic prediction in patient management and clinical trials",
        "Statistics in Medicine 5",
        doi="10.1002/sim.4780050506",
    ),
    "sun2024": Reference(
        "Sun, Chaudhari, Barnett and Dobriban",
        2024,
        "A confidence interval for the l2 expected calibration error",
        arxiv="2408.08998",
    ),
    "survey": Reference(
        "Lane", 2025, "A comprehensive review of classifier probability calibration metrics", arxiv="2504.18278"
    ),
    "wang2023": Reference(
        "Wang et al.", 2023, "LogSumExp calibration error, as named in the survey of classifier calibration metrics"
    ),
    "xiong2023": Reference(
        "Xiong et al.", 2023, "Proximity-informed calibration for deep neural networks", "NeurIPS", arxiv="2306.04590"
    ),
    "yang2023": Reference(
        "Yang, Zhan and Gan",
        2023,
        "Beyond probability partitions: calibrating neural networks with semantic aware grouping",
        "NeurIPS",
        arxiv="2306.04985",
    ),
    "arrieta2022": Reference(
        "Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu",
        2022,
        "Metrics of calibration for probabilistic predictions",
        "JMLR 23",
        arxiv="2205.09680",
    ),
    "guy2025": Reference("Guy et al.", 2025, "Measuring multi-calibration"),
    "sadatsafavi2024": Reference(
        "Sadatsafavi and Petkau",
        2024,
        "Non-parametric inference on calibration of predicted risks",
        "Statistics in Medicine",
    ),
    "wang2024": Reference(
        "Wang and Golebiowski",
        2023,
        "Towards unbiased calibration using meta-regularization",
        "TMLR 2024",
        arxiv="2303.15057",
    ),
    "blasiok2024": Reference(
        "Blasiok and Nakkiran",
        2024,
        "Smooth ECE: principled reliability diagrams via kernel smoothing",
        "ICLR",
        arxiv="2309.12236",
    ),
    "chidambaram2024": Reference(
        "Chidambaram, Lee, McSwiggen and Rezchikov",
        2024,
        "How flawed is ECE? An analysis via logit smoothing",
        "ICML",
        arxiv="2402.10046",
    ),
    "popordanoska2022": Reference(
        "Popordanoska, Sayer and Blaschko",
        2022,
        "A consistent and differentiable Lp canonical calibration error estimator",
        "NeurIPS",
        arxiv="2210.07810",
    ),
    "zhang2020": Reference(
        "Zhang, Kailkhura and Han",
        2020,
        "Mix-n-Match: ensemble and compositional methods for uncertainty calibration in deep learning",
        "ICML",
        arxiv="2003.07329",
    ),
    "kumar2018": Reference(
        "Kumar, Sarawagi and Jain",
        2018,
        "Trainable calibration measures for neural networks from kernel mean embeddings",
        "ICML",
    ),
    "widmann2019": Reference(
        "Widmann, Lindsten and Zachariah",
        2019,
        "Calibration tests in multi-class classification: a unifying framework",
        "NeurIPS",
        arxiv="1910.11385",
    ),
    "widmann2021": Reference(
        "Widmann, Lindsten and Zachariah", 2021, "Calibration tests beyond classification", "ICLR", arxiv="2210.13355"
    ),
    "vashistha2025": Reference("Vashistha and Farahi", 2025, "Kernel local calibration error"),
    "chatterjee2024": Reference(
        "Chatterjee, Niu and Bhattacharya",
        2024,
        "A kernel-based conditional two-sample test using nearest neighbors",
        arxiv="2407.16550",
    ),
    "moskvichev2025": Reference("Moskvichev and Sejdinovic", 2025, "Conditional kernel calibration error"),
    "austin2019": Reference(
        "Austin and Steyerberg",
        2019,
        "The integrated calibration index (ICI) and related metrics for quantifying the calibration of logistic regression models",
        "Statistics in Medicine 38",
        doi="10.1002/sim.8281",
    ),
    "vanhoorde2015": Reference(
        "Van Hoorde, Van Huffel, Timmerman, Bourne and Van Calster",
        2015,
        "A spline-based tool to assess and visualize the calibration of multiclass risk predictions",
        "Journal of Biomedical Informatics 54",
        doi="10.1016/j.jbi.2014.12.016",
    ),
    "harrell2015": Reference(
        "Harrell", 2015, "Regression modeling strategies", "Springer", doi="10.1007/978-3-319-19425-7"
    ),
    "kull2017": Reference(
        "Kull, Silva Filho and Flach",
        2017,
        "Beyond sigmoids: how to obtain well-calibrated probabilities from binary classifiers with beta calibration",
        "Electronic Journal of Statistics 11",
        doi="10.1214/17-EJS1338SI",
    ),
    "gweon2023": Reference(
        "Gweon", 2023, "A power-controlled reliability assessment for multi-class probabilistic classifiers"
    ),
    "luo2022": Reference("Luo et al.", 2022, "Local calibration: metrics and recalibration", "UAI", arxiv="2102.10809"),
    "platt1999": Reference(
        "Platt",
        1999,
        "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
        "Advances in Large Margin Classifiers",
    ),
    "zadrozny2002": Reference(
        "Zadrozny and Elkan",
        2002,
        "Transforming classifier scores into accurate multiclass probability estimates",
        "KDD",
        doi="10.1145/775047.775151",
    ),
    "dimitriadis2021": Reference(
        "Dimitriadis, Gneiting and Jordan",
        2021,
        "Stable reliability diagrams for probabilistic classifiers",
        "PNAS 118",
        doi="10.1073/pnas.2016191118",
    ),
    "rahimi2020": Reference(
        "Rahimi, Shaban, Cheng, Hartley and Boots",
        2020,
        "Intra order-preserving functions for calibration of multi-class neural networks",
        "NeurIPS",
        arxiv="2003.06820",
    ),
}
