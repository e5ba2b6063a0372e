"""Write the reference values of `calibrant validate` from their sources.

`python tools/make_references.py` rewrites src/calibrant/validation/references: definitions in exact arithmetic from
tests/oracles, values of R from tests/r, and stored values of what has no other source.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src" / "calibrant" / "validation" / "references"
CASES, MOST_ROWS, TRIES = 4, 24, 40


def definitions() -> dict[str, Any]:
    """For every metric some small problems, with the value of its definition in exact arithmetic."""
    from tests.oracles import test_definitions as oracles
    from tests.oracles.cases import draw_case

    data, topics = {}, []
    for name in oracles.EVERY:
        rows: list[dict[str, Any]] = []
        for number in range(TRIES):
            case = draw_case(name, number, oracles.EVERY)
            if not 4 <= len(case.labels) <= MOST_ROWS:
                continue
            try:
                value = oracles.exact_value(name, case)
                oracles.public_value(name, case)
            except (oracles.definitions.Undefined, oracles.cal.CalibrantError):
                continue
            if not math.isfinite(value) or abs(value) < 1e-9:  # 0 would hide an error of a factor
                continue
            arrays, words = arguments(case)
            label = f"{name} {number}"
            data[label] = arrays
            rows.append({"topic": name, "call": f"cal.{name}({', '.join(words)})", "data": label, "value": value})
            if len(rows) == CASES:
                break
        tolerance = max(oracles.TOLERANCES.get(name, oracles.TOLERANCE), 1e-12)
        common = {
            "kind": "metric",
            "source": "definition in exact arithmetic",
            "source_call": f"tests/oracles, {name}",
            "tolerance": tolerance,
            "reason": "rounding" if tolerance <= 1e-12 else "a root, an integral or a division by a small number",
        }
        topics.append((common, rows))
    return {"rows": topics, "data": data}


def arguments(case: Any) -> tuple[dict[str, Any], list[str]]:
    """The arrays of a problem and the words of the call."""
    arrays: dict[str, Any] = {"y": case.labels, "p": case.probs.astype(float).tolist()}
    words = ["y", "p" if case.probs.dtype == np.float64 else "np.float32(p)"]
    options = dict(case.options)
    closed, bins = options.pop("closed", "right"), options.get("bins")
    if closed == "left":
        options.pop("binning", None)
        if isinstance(bins, int):
            words.append("binning=cal.EqualWidth(closed='left')")
        else:
            words.append(f"binning=cal.Edges({tuple(bins)!r}, closed='left')")
            del options["bins"]
    elif options.get("binning") == "equal_width" and isinstance(bins, (list, tuple)) and bins[0] == 0:
        del options["binning"]
    if isinstance(options.get("lens"), list):
        groups = {f"group {g}": group for g, group in enumerate(options.pop("lens"))}
        words.append(f"lens=cal.class_groups({groups!r})")
    if options.get("norm") == "inf":
        words.append("norm=math.inf")
        del options["norm"]
    for word, value in {**options, **{k: v for k, v in case.weights().items() if v is not None}}.items():
        plain = np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        if isinstance(plain, (list, tuple)) and len(plain) == len(case.labels) and word not in ("bins", "partitions"):
            arrays[word] = list(plain)
            words.append(f"{word}={word}")
        else:
            words.append(f"{word}={plain!r}")
    return arrays, words


def write(name: str, content: dict[str, Any]) -> None:
    path = FOLDER / f"{name}.json"
    lines = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_text(lines.replace('},{"topic"', '},\n{"topic"') + "\n", encoding="utf-8")
    print(path.relative_to(ROOT), sum(len(rows) for _, rows in content["rows"]), "values", path.stat().st_size, "bytes")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    FOLDER.mkdir(parents=True, exist_ok=True)
    write("definitions", definitions())
