"""What the guides say beyond their code: the right metrics for each use case, anchors that exist, and other packages' numbers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant.metrics.use_cases import use_cases

DOCS = Path(__file__).parent.parent.parent / "docs"
GUIDES = sorted((DOCS / "guides").glob("*.md"))
NEW = [*(DOCS / f"{name}.md" for name in ("which-metric", "mistakes", "migration", "scope")), *GUIDES]


def sections(page: str) -> dict[str, str]:
    """Text of each use case of the page, from its call of recommend to the next heading."""
    found = re.split(r'^`cal\.recommend\("([a-z-]+)"\)`$', page, flags=re.MULTILINE)
    return {
        name: re.split(r"^#+ ", text, flags=re.MULTILINE)[0]
        for name, text in zip(found[1::2], found[2::2], strict=True)
    }


def first_column(text: str) -> list[str]:
    cells = [row.split("|")[1] for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    return [id for cell in cells for id in re.findall(r"`([a-z0-9_]+)`", cell)]


class TestWhichMetric:
    page = (DOCS / "which-metric.md").read_text(encoding="utf-8")

    def test_every_use_case_has_a_section(self) -> None:
        assert sorted(sections(self.page)) == sorted(use_cases())

    @pytest.mark.parametrize("use_case", use_cases())
    def test_a_section_names_what_recommend_names(self, use_case: str) -> None:
        named = first_column(sections(self.page)[use_case])
        assert named == list(cal.recommend(use_case).metrics)

    def test_the_hint_for_an_unknown_name_is_the_one_shown(self) -> None:
        shown = re.search(r'catalogue\["smooth"\]\nexcept .*\n +error\.remedy  # "(.+)"$', self.page, re.MULTILINE)
        with pytest.raises(cal.errors.UnknownMetricError) as raised:
            cal.catalogue["smooth"]
        assert shown[1] == raised.value.remedy

    def test_tables_name_metrics_that_exist(self) -> None:
        families = self.page[self.page.index("## Limitations of each family") : self.page.index("## What to report")]
        rows = [row.split("|") for row in re.findall(r"^\|.*\|$", families, re.MULTILINE)]
        named = [id for row in rows for id in re.findall(r"`([a-z0-9_]+)`", row[2]) if id != "assess"]
        assert len(named) > 15
        assert set(named) <= set(cal.catalogue)


@pytest.mark.parametrize("page", NEW, ids=lambda page: page.stem)
def test_names_in_code_spans_exist(page: Path) -> None:
    """`cal.name` in the text is public."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for name in re.findall(r"`cal\.([A-Za-z_0-9]+)", text):
        assert hasattr(cal, name), f"{page.name}: cal.{name}"


def anchors(page: Path) -> set[str]:
    """Heading anchors as MyST makes them: lower case, punctuation dropped, spaces to hyphens."""
    headings = re.findall(r"^#{1,3} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", NEW, ids=lambda page: page.stem)
def test_anchors_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
        assert anchor in anchors((page.parent / target) if target else page), f"{page.name}: {target}#{anchor}"


def test_the_prior_shift_of_a_sample_is_the_offset_of_its_odds() -> None:
    page = (DOCS / "guides" / "rare-events.md").read_text(encoding="utf-8")
    code = page[page.index("p_sample = ") :].partition("```")[0]
    assert "the same" in code
    sampled = re.search(r"^sampled = ([0-9. /+*()]+)  #", code, re.MULTILINE)
    assert "PriorShift(before=sampled, after=0.01)" in code
    p = np.array([0.05, 0.3, 0.8])
    shift = cal.PriorShift(before=eval(sampled[1]), after=0.01).fit(p)
    offset = cal.OffsetAdjustment(offset=float(np.log(0.1))).fit(p)
    new = [0.05, 0.3, 0.8, 0.9]
    assert shift.predict_proba(new) == pytest.approx(offset.predict_proba(new), rel=1e-12)


def test_the_evaluation_of_the_start_page_is_that_of_its_code() -> None:
    page = (DOCS / "start.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.+?)```", page, re.DOTALL) if "y_prob**1.5" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    assert f"```text\n{cal.evaluate(names['y_true'], names['y_prob'])}\n```" in page
