"""The papers behind the metrics, by key; they are read from a file when they are first asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Reference", "references"]


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


@cache
def references() -> dict[str, Reference]:
    """All papers, from the file beside this module."""
    text = Path(__file__).with_name("references.json").read_text(encoding="utf-8")
    return {key: Reference(**entry) for key, entry in json.loads(text).items()}
