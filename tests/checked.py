"""The tiny data sets, labels first, whose values the tests know from work by hand or in exact arithmetic."""

from typing import Any

import numpy as np

T1 = A = ([0, 1, 1, 1], [0.1, 0.4, 0.8, 0.9])
T2 = ([0, 0, 1, 0, 1, 0, 1, 1, 1, 1], [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
T3 = ([0] * 20 + [1] * 20, [(i + 0.5) / 40 for i in range(40)])
M3 = ([0, 1, 2, 0], [[0.7, 0.2, 0.1], [0.15, 0.55, 0.3], [0.2, 0.15, 0.65], [0.42, 0.48, 0.1]])
B = ([0, 1, 0, 0, 1, 0, 1, 1, 1, 1], T2[1])
C = ([0, 1, 1, 0], np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5], [0.4, 0.35, 0.25]]))
D_TENTHS = [[7, 2, 1], [6, 3, 1], [2, 7, 1], [3, 5, 2], [1, 3, 6], [2, 2, 6], [5, 1, 4], [1, 1, 8]]
D = ([0, 1, 1, 0, 2, 1, 2, 2], np.array(D_TENTHS) / 10)
S_CONFIDENCE = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5]
S_ERROR = [0, 0, 1, 0, 0, 1, 0, 1, 0, 1]
# As keywords of the tests' own `call`.
B_ROWS: dict[str, Any] = {"y_true": B[0], "y_prob": B[1]}
D_ROWS: dict[str, Any] = {"y_true": D[0], "y_prob": D[1].tolist()}
S_ROWS: dict[str, Any] = {"y_true": [1 - e for e in S_ERROR], "y_prob": S_CONFIDENCE, "input": "confidence"}
