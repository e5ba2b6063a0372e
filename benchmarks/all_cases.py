"""Every case, with the contenders that came later put beside the first ones."""

from __future__ import annotations

from dataclasses import replace

from calibrators_cases import MAP_CASES
from cases import CASES, Case
from kernels import KERNEL_CASES
from more_cases import BESIDE, MORE_CASES

ALL_CASES = [
    *(replace(case, contenders=[*case.contenders, *BESIDE.get(case.id, [])]) for case in [*CASES, *KERNEL_CASES]),
    *MORE_CASES,
    *MAP_CASES,
]


def case_by_id(id: str) -> Case:
    """The case of this name."""
    return next(case for case in ALL_CASES if case.id == id)
