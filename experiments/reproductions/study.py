"""What a study gives: parts with text, rows of published and own values, tables and pictures; and the page made of them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments import published
from experiments.rendering import ROOT, Cell, markdown_table, render

HERE = Path(__file__).parent
PAGES = ROOT / "docs" / "reproductions"
RESULTS = HERE / "results"


@dataclass(frozen=True)
class Row:
    """One quantity: what was published, and what came out here."""

    what: str
    published: float | None
    """None where the paper shows it in a figure only, or not at all."""
    ours: float | None
    """None where it cannot be computed from what there is; the note says why."""
    spread: float | None = None
    """Standard deviation of ours over seeds or repetitions."""
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less the published value."""
        return None if self.published is None or self.ours is None else self.ours - self.published


@dataclass(frozen=True)
class Table:
    """Any other table: a heading for each column, and the lines under it."""

    columns: Sequence[str]
    lines: Sequence[Sequence[Cell]]

    def cell(self, line: str, column: str) -> Cell:
        """The cell of a line, which is named by its first cell; empty where there is none, as in the small form."""
        cells = {each[0]: dict(zip(self.columns, each, strict=True)) for each in self.lines}
        return cells.get(line, {}).get(column, "")


@dataclass(frozen=True)
class Part:
    """One table or figure of the paper; the page says under `key` what was done, and what is to be seen."""

    key: str
    rows: Sequence[Row] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[tuple[str, str]] = ()
    """File names in the folder of pictures, each with a sentence that says what it shows."""
    values: dict[str, Any] = field(default_factory=dict)
    """What the sentences of the page quote."""

    @property
    def shown(self) -> str:
        """Tables and pictures in Markdown."""
        tables = [*([rows_table(self.rows)] if self.rows else []), *self.tables]
        pictures = [f"![{caption}]({name})" for name, caption in self.pictures]
        return "\n\n".join([*(markdown_table(table.columns, table.lines) for table in tables), *pictures])


@dataclass(frozen=True)
class Study:
    """All parts of one paper, and what the sentences of the whole page quote."""

    name: str
    parts: Sequence[Part] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


def data_folder() -> Path | None:
    """Where the real predictions and tables lie; None where there are none."""
    folder = published.data_folder()
    return folder if (folder / "sets").is_dir() else None


def rows_table(rows: Sequence[Row]) -> Table:
    """Published, ours and the difference; the columns that nothing is said in are left out."""
    lines = [(row.what, row.published, row.ours, row.spread, row.difference, row.note) for row in rows]
    columns = ("", "published", "ours", "± over runs", "difference", "remark")
    kept = [at for at in range(len(columns)) if at < 3 or any(line[at] not in (None, "") for line in lines)]
    return Table([columns[at] for at in kept], [[line[at] for at in kept] for line in lines])


def as_page(study: Study) -> str:
    """The page of a study."""
    parts = {
        part.key: {"shown": part.shown, "rows": part.rows, "tables": part.tables, **part.values} for part in study.parts
    }
    return render(study.name, study.values | parts)


def save(study: Study, folder: Path = RESULTS) -> Path:
    """The study as JSON, from which the page can be made again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study.name}.json"
    path.write_text(json.dumps(asdict(study), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return path


def load(path: Path) -> Study:
    """A study that was saved."""
    stored: dict[str, Any] = json.loads(path.read_text())
    parts = [
        Part(
            part["key"],
            [Row(**row) for row in part["rows"]],
            [Table(**table) for table in part["tables"]],
            [(name, caption) for name, caption in part["pictures"]],
            part["values"],
        )
        for part in stored.pop("parts")
    ]
    return Study(**stored, parts=parts)
