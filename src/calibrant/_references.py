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
}
