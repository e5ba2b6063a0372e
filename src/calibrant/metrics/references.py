"""References of the metrics by key, read from a file on first use."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Reference(NamedTuple):
    """A publication; `doi` and `arxiv` are empty if unknown."""

    authors: str
    year: int
    title: str
    venue: str = ""
    doi: str = ""
    arxiv: str = ""

    def __str__(self) -> str:
        if not self.authors:
            return self.title
        where = f" {self.venue}." if self.venue else ""
        number = f" doi:{self.doi}" if self.doi else f" arXiv:{self.arxiv}" if self.arxiv else ""
        return f"{self.authors} ({self.year}): {self.title}.{where}{number}"

    @property
    def url(self) -> str:
        """Link to the publication; empty if unknown."""
        return (
            f"https://doi.org/{self.doi}" if self.doi else f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""
        )


@cache
def references() -> dict[str, Reference]:
    """Return all references."""
    text = Path(__file__).with_name("references.json").read_text(encoding="utf-8")
    return {key: Reference(**entry) for key, entry in json.loads(text).items()}


def reference_of(cite: str) -> Reference:
    """Return the reference with this key; any other text, as of a plug-in, is a reference itself."""
    return references().get(cite) or Reference("", 0, cite)
