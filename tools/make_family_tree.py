"""Write docs/images/families.svg: the families and subfamilies of the catalogue as a tree, with the ids of their metrics.

The picture is 390 px wide, the width of a telephone, and as high as it needs.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import calibrant as cal

FILE = Path(__file__).parent.parent / "docs" / "images" / "families.svg"
WIDTH, MARGIN = 390, 10
# Left ends of the trunk, of the branches with subfamilies, and of the ids.
TRUNK, BRANCH, LEAF = 20, 42, 54
LETTER = 6.35  # width of a letter of the ids, in a monospaced font of this size
SIZE, LINE = 10.5, 15
# Blue, green, orange, purple and red of sufficient contrast on white.
COLOURS = {"point": "#1f5fa8", "bin": "#2a7a3b", "kernel": "#a85a00", "curve": "#7b3fa0", "cumulative": "#b0263a"}
STYLE = f"""
text {{ font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #222; }}
.root {{ font-size: 15px; font-weight: 600; }}
.family {{ font-size: 13.5px; font-weight: 600; fill: #fff; }}
.branch {{ font-size: 12px; font-weight: 600; }}
.leaf {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {SIZE}px; }}
"""


def lines_of(ids: list[str], width: float) -> list[str]:
    """The ids with spaces between them, wrapped to a width in pixels."""
    lines = [""]
    for id in ids:
        longer = f"{lines[-1]}  {id}" if lines[-1] else id
        if len(longer) * LETTER > width:
            lines.append(id)
        else:
            lines[-1] = longer
    return lines


def family_tree() -> str:
    """The picture as SVG."""
    tree = cal.catalogue.tree()
    marks = [f'<text class="root" x="{MARGIN}" y="24">{len(cal.catalogue)} calibration metrics</text>']
    top, last_family = 36, 0
    for family, subfamilies in tree.items():
        colour, count = COLOURS.get(family, "#444"), sum(map(len, subfamilies.values()))
        last_family = top + 12
        marks += [
            f'<path d="M{MARGIN + 2} {last_family}H{TRUNK}" stroke="#888" fill="none"/>',
            f'<rect x="{TRUNK}" y="{top}" width="150" height="24" rx="4" fill="{colour}"/>',
            f'<text class="family" x="{TRUNK + 9}" y="{top + 16.5}">{escape(family)} ({count})</text>',
        ]
        start, top, middle = top + 24, top + 24 + 20, 0
        for subfamily, metrics in subfamilies.items():
            middle = top - 4
            marks += [
                f'<path d="M{TRUNK + 10} {middle}H{BRANCH - 2}" stroke="{colour}" fill="none"/>',
                f'<text class="branch" x="{BRANCH}" y="{top}">{escape(subfamily)}</text>',
            ]
            for line in lines_of([m.id for m in metrics], WIDTH - MARGIN - LEAF):
                top += LINE
                marks.append(f'<text class="leaf" x="{LEAF}" y="{top}" xml:space="preserve">{escape(line)}</text>')
            top += 21
        marks.append(f'<path d="M{TRUNK + 10} {start}V{middle}" stroke="{colour}" fill="none"/>')
    marks.append(f'<path d="M{MARGIN + 2} 32V{last_family}" stroke="#888" fill="none"/>')
    height = top - 8
    title = "Families and subfamilies of calibration metrics"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'role="img" aria-labelledby="title">',
            f'<title id="title">{title}</title>',
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            *marks,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    """Write the picture."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(family_tree(), encoding="utf-8")
    print(f"{len(cal.catalogue)} metrics in {FILE.relative_to(FILE.parent.parent.parent)}")


if __name__ == "__main__":
    main()
