"""A small stand-in for the folder of real predictions: the same files and columns, some hundred simulated rows in each.

Tests that read real predictions read these where the real ones are absent, so that they can fail on a plain clone. The numbers
in checks.json are computed here in plain NumPy, without calibrant, as the published ones were by others.
"""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.util.arrays import Array

ROWS = 600

LOGITS = {
    "agnews_bert_n1000_bihani": 4,
    "agnews_bert_n10000_bihani": 4,
    "mmlu_llama31_70b_base": 4,
    "mmlu_llama31_8b_instruct": 4,
}
PROBS = {
    "c10_lenet5_netcal": 10, "c10_vgg16_kumar": 10, "c10h_cnn889_kerrigan": 10, "c10h_resnet110_kerrigan": 10, "c100_wrn16_4_netcal": 100,
    "f538_worldcup_ingame_3way": 3, "kitti_1layer_nn_wenger": 2, "kitti_adaboost_wenger": 2, "mnist_1layer_nn_wenger": 10,
    "mnist_random_forest_wenger": 10, "mnist_xgboost_wenger": 10,
}  # fmt: skip
STATED = ("sciq_stated_claude_3_haiku", "sciq_stated_deepseek_v3", "sciq_stated_gemini_2_5_flash", "sciq_stated_gpt_4o")
TOP = (
    "top1_in1k_densenet161_tv", "top1_in1k_efficientnet_b1_timm", "top1_in1k_gluon_senet154_timm", "top1_in1k_mixnet_m_timm",
    "top1_in1k_resnet101_tv", "top1_in1k_resnet34_timm", "top1_in1k_tf_inception_v3_timm", "top1_resnet110_c10",
    "top1_resnet110_c100", "top1_snacks",
)  # fmt: skip
CORRECT = (
    "tcal_cifar100_mobilenetv2_x1_4",
    "tcal_cifar10_densenet121",
    "tcal_cifar10_resnet50",
    "tcal_imagenet_resnet152",
)
BINARY = {
    "calzone_welldata": ("class1",), "compas_two_year": ("decile_linear",), "f538_mlb_games": ("team1",), "f538_nba_games": ("team1",),
    "f538_wnba_games": ("team1",), "icu_saps2_giviti": ("saps2",), "precip_niamey_dgj": ("Logistic", "EMOS", "ENS", "EPC"),
    "recid_bansak_dgj": ("logit", "gbm", "mturk", "compas"),
    "solarflare_c1_dgj": ("AMOS", "ASSA", "CLIM120", "DAFFS", "GDAFFS", "MCEVOL", "MCSTAT", "NICT", "NJIT", "NOAA", "SIDC"),
    "spf_avg_h0_dgj": ("forecast",), "spf_avg_h1_dgj": ("forecast",), "spf_avg_h4_dgj": ("forecast",),
}  # fmt: skip
SUBJECTS = 57
TELCO_CATEGORIES = ("gender", "SeniorCitizen", "Contract")


def write_sample(folder: Path) -> Path:
    """Write every file, with the same rows each time."""
    rng = np.random.default_rng(20)
    (folder / "sets").mkdir(parents=True)
    (folder / "tabular").mkdir()
    sets = _sets(rng)
    for name, arrays in sets.items():
        np.savez(folder / "sets" / f"{name}.npz", **arrays)
    (folder / "checks.json").write_text(json.dumps(list(_checks(sets))), encoding="utf-8")
    (folder / "vectors.json").write_text(json.dumps({"note": "by hand", "vectors": VECTORS}), encoding="utf-8")
    _tables(folder / "tabular", rng)
    return folder


def _sets(rng: np.random.Generator) -> dict[str, dict[str, Array]]:
    sets: dict[str, dict[str, Array]] = {}
    for name, k in {**LOGITS, **PROBS}.items():
        labels, logits = _overconfident(rng, k)
        probs = _softmax(logits)
        sets[name] = {"logits": logits.astype(np.float32)} if name in LOGITS else {"probs": probs}
        sets[name]["labels"] = labels.astype(np.int16)
        if name.startswith("mmlu"):
            sets[name] |= {"subject": rng.integers(SUBJECTS, size=ROWS).astype(np.int8)}
            sets[name]["subjects"] = np.array([f"subject {number}" for number in range(SUBJECTS)])
        if name.startswith("c10h"):
            sets[name]["human_counts"] = np.stack([rng.multinomial(50, row) for row in probs]).astype(np.int16)
    for name in STATED:
        labels, logits = _overconfident(rng, 4)
        sets[name] = {
            "stated_probs": np.round(_softmax(logits), 2).astype(np.float32),
            "labels": labels.astype(np.int16),
        }
        sets[name] |= {"answer": logits.argmax(axis=1).astype(np.int16), "token_prob": _softmax(logits).max(axis=1)}
    for name in TOP:
        labels, logits = _overconfident(rng, 10)
        sets[name] = {"confidence": _softmax(logits).max(axis=1).astype(np.float32), "label": labels.astype(np.int16)}
        sets[name]["pred"] = logits.argmax(axis=1).astype(np.int16)
    for name in CORRECT:
        confidence = rng.beta(5, 1, ROWS)
        sets[name] = {"confidence": confidence, "correct": (rng.random(ROWS) < confidence**1.3).astype(np.int8)}
    for name, columns in BINARY.items():
        rows = 92 if name.startswith("precip") else ROWS
        truth = rng.beta(1.2, 1.8, rows)
        sets[name] = {f"p_{column}": np.clip(truth + rng.normal(0, 0.1, rows), 0.01, 0.99) for column in columns}
        sets[name]["label"] = (rng.random(rows) < truth).astype(np.int8)
        if name.startswith("f538"):
            sets[name]["season"] = rng.integers(2015, 2023, ROWS).astype(np.int16)
    compas = sets["compas_two_year"]
    compas["decile"] = np.ceil(10 * compas["p_decile_linear"]).astype(np.int8)
    compas["race_code"] = rng.integers(3, size=ROWS).astype(np.int8)
    return sets


def _overconfident(rng: np.random.Generator, k: int) -> tuple[Array, Array]:
    """Labels drawn from logits, and logits half as large again."""
    logits = rng.normal(0, 2, (ROWS, k))
    drawn = (rng.random((ROWS, 1)) < _softmax(logits).cumsum(axis=1)).argmax(axis=1)
    return drawn, 1.5 * logits


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _ece(score: Array, outcome: Array, bins: int, *, worst: bool = False) -> float:
    """Bins of equal width, closed on the right, with plain means."""
    score = score.astype(float)
    place = np.clip(np.ceil(score * bins).astype(int) - 1, 0, bins - 1)
    gaps = [(abs(score[place == b].mean() - outcome[place == b].mean()), (place == b).mean()) for b in np.unique(place)]
    return float(max(gap for gap, _ in gaps) if worst else sum(gap * share for gap, share in gaps))


def _checks(sets: dict[str, dict[str, Array]]) -> Any:
    """Numbers of each kind of set by plain computation, in the form of the published ones."""
    for name, arrays in sets.items():
        found: dict[str, float] = {}
        if name in TOP:
            score, right = arrays["confidence"], arrays["pred"] == arrays["label"]
            found = {"error %": 100 * (1 - right.mean()), "ECE-10 %": 100 * _ece(score, right, 10)}
            found |= {"ECE-15": _ece(score, right, 15), "MCE-15": _ece(score, right, 15, worst=True)}
        elif name in STATED:
            score, right = arrays["stated_probs"].max(axis=1), arrays["answer"] == arrays["labels"]
            found = {
                "accuracy of the answer %": 100 * right.mean(),
                "mean stated max confidence": score.astype(float).mean(),
            }
        elif name in BINARY:
            score, label = arrays[f"p_{BINARY[name][0]}"], arrays["label"]
            found = {f"ECE-15 {BINARY[name][0]} (relplot figure)": _ece(score, label, 15)}
        if name == "calzone_welldata":
            score, label = arrays["p_class1"], arrays["label"].astype(float)
            spread = ((1 - 2 * score) ** 2 * score * (1 - score)).sum() ** 0.5
            found["Spiegelhalter Z"] = ((label - score) * (1 - 2 * score)).sum() / spread
        for quantity, value in found.items():
            yield {
                "set": name,
                "quantity": quantity,
                "published": round(float(value), 6),
                "computed": float(value),
                "source": "plain NumPy, in experiments/tests/sample.py",
                "note": "",
                "printed_decimals": 6,
                "verdict": "reproduced",
            }


# Worked out by hand.
VECTORS = [
    {
        "id": "sk_brier_by_hand",
        "source": "hand",
        "inputs": {"y_true": [0, 1, 1, 0], "y_prob": [0.1, 0.9, 0.8, 0.3]},
        "params": {},
        "expected": (0.01 + 0.01 + 0.04 + 0.09) / 4,
        "tolerance": 1e-12,
    },
    {
        "id": "sk_calcurve_uniform2",
        "source": "hand",
        "inputs": {"y_true": [0, 0, 0, 1, 1, 1], "y_prob": [0.0, 0.1, 0.2, 0.8, 0.9, 1.0]},
        "params": {"n_bins": 2, "strategy": "uniform"},
        "expected": {"prob_true": [0, 1], "prob_pred": [0.1, 0.9]},
        "tolerance": 1e-9,
    },
    {
        "id": "uc_ece_binary2",
        "source": "hand",
        "inputs": {"y_true": [0, 1, 0, 1], "y_prob": [0.2, 0.4, 0.7, 0.9]},
        "params": {},
        "expected": (abs(0.3 - 0.5) + abs(0.8 - 0.5)) / 2,
        "tolerance": 1e-9,
    },
]


def _tables(folder: Path, rng: np.random.Generator) -> None:
    """Tables with the columns of Telco churn and Adult income: numbers, categories, and a label that depends on both."""
    telco = ["customerID", "gender", "SeniorCitizen", "tenure", "Contract", "MonthlyCharges", "TotalCharges", "Churn"]
    rows = []
    for number in range(ROWS):
        tenure, monthly = int(rng.integers(1, 72)), float(rng.uniform(20, 110))
        contract = str(rng.choice(["Month-to-month", "One year", "Two year"]))
        leaves = rng.random() < 1 / (1 + np.exp(tenure / 20 - monthly / 60 + (contract != "Month-to-month")))
        row = [f"id{number}", str(rng.choice(["Female", "Male"])), int(rng.integers(2)), tenure, contract]
        rows.append([*row, f"{monthly:.2f}", f"{tenure * monthly:.2f}", "Yes" if leaves else "No"])
    _write(folder / "WA_Fn-UseC_-Telco-Customer-Churn.csv", telco, rows)
    numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    for name in ("adult_data.csv", "adult_test.csv"):
        rows = []
        for _ in range(ROWS):
            age, years, hours = (int(rng.integers(*ends)) for ends in ((18, 80), (1, 16), (10, 60)))
            rich = rng.random() < 1 / (1 + np.exp(6.6 - age / 20 - years / 5 - hours / 30))
            row = [age, int(rng.integers(2e4, 5e5)), years, 0, 0, hours, str(rng.choice(["Private", "Self-emp", "?"]))]
            rows.append([*row, (">50K" if rich else "<=50K") + ("." if "test" in name else "")])
        _write(folder / name, [*numbers, "workclass", "class"], rows)


def _write(path: Path, headings: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([headings, *rows])
