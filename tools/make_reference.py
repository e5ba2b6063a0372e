"""Write docs/reference/: every public name with its signature and what its docstring says, one page for each room."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import calibrant as cal
from reference_rooms import ROOMS, SPOKEN

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
WIDTH = 100
# A dataclass of more fields than this is a result, which nobody builds by hand.
FEW_FIELDS = 4


class Entry(NamedTuple):
    """A public name: where it stands, how it is written in code, and what it is."""

    room: str
    section: str
    name: str
    spoken: str
    thing: Any

    @property
    def label(self) -> str:
        """A target that no other name has: a class and a function may differ in their case alone."""
        kind = "class" if inspect.isclass(self.thing) else "name"
        module = self.spoken.rstrip(".").removeprefix("cal.")
        place = self.room if module == "cal" or module in packages() else module.replace(".", "-")
        return f"{place}-{kind}-{self.name.lower()}".replace("_", "-")


def entries() -> Iterator[Entry]:
    """Every public name but the metrics, room by room. PyTorch's are left out where it is not installed."""
    for room, content in ROOMS.items():
        if room == "torch" and find_spec("torch") is None:
            continue
        for section in content.sections:
            for module in section.modules:
                for spoken, name, thing in _names_of(module):
                    yield Entry(room, section.title, name, spoken, thing)


def exports(package: str) -> list[tuple[str, str]]:
    """The module and the name of each export of a package, as its stub lists them."""
    stub = Path(cal.__file__).parent / package.replace(".", "/") / "__init__.pyi"
    return re.findall(r"^from \.([\w.]+) import (\w+)", stub.read_text(encoding="utf-8"), re.MULTILINE)


@cache
def packages() -> tuple[str, ...]:
    """The packages whose names are listed by the modules that define them."""
    return (*dict.fromkeys(package for package, _ in exports("") if package != "errors"), "clinical", "decision.ood")


@cache
def homes() -> dict[str, dict[str, str]]:
    """The public names of every module, and how each is written in code before its name."""
    found = {"errors": {name: "cal." if name in cal.__all__ else "cal.errors." for name in cal.errors.__all__}}
    for package in packages():
        for module, name in exports(package):
            if name not in set(cal.catalogue):  # `in cal.catalogue` would accept aliases
                home = import_module(f"calibrant.{package}")
                is_root = name in cal.__all__ and getattr(cal, name) is getattr(home, name)
                spoken = "cal." if is_root else f"cal.{package}."
                found.setdefault(f"{package}.{module}", {})[name] = spoken
    return found


@cache
def _names_of(module: str) -> list[tuple[str, str, Any]]:
    if not module.endswith(".*"):
        home = import_module(f"calibrant.{module}")
        listed = sorted(homes()[module].items(), key=lambda item: item[0].swapcase())
        return [(spoken, name, getattr(home, name)) for name, spoken in listed]
    home = import_module(f"calibrant.{module[:-2]}")
    known = {name for names in homes().values() for name, spoken in names.items()}
    names = [name for name in home.__all__ if name not in known or module[:5] == "torch"]
    named = [(SPOKEN[module], name, getattr(home, name)) for name in sorted(names, key=str.swapcase)]
    return [entry for entry in named if not inspect.ismodule(entry[2])]


@cache
def links() -> dict[str, str]:
    """The label of each name of calibrant and its packages, for docstrings that mention it; those of `ood` are common words."""
    spoken = {"cal.", "cal.errors.", *(f"cal.{package}." for package in packages() if package != "decision.ood")}
    return {entry.name: entry.label for entry in entries() if entry.spoken in spoken}


def signature(spoken: str, thing: Any, *, bound: bool = False) -> str:
    """How it is called: names and defaults, packed into lines; empty for what is not called. `bound` leaves out self."""
    try:
        called = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    words, before = [], None
    for parameter in list(called.parameters.values())[bound:]:
        if parameter.kind is parameter.KEYWORD_ONLY and before not in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        ):
            words.append("*")
        before = parameter.kind
        mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        given = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        words.append(f"{mark}{parameter.name}{given}")
    gives = called.return_annotation
    end = "" if inspect.isclass(thing) or gives in (called.empty, None, "None") else f" -> {_shown(gives)}"
    whole = f"{spoken}({', '.join(words)}){end}"
    if len(whole) <= WIDTH:
        return whole
    lines = [""]
    for word in words:
        lines += [""] if lines[-1] and len(lines[-1]) + len(word) + 6 > WIDTH else []
        lines[-1] += f"{' ' if lines[-1] else ''}{word},"
    return "\n".join([f"{spoken}(", *(f"    {line}" for line in lines), f"){end}"])


def _default(value: Any) -> str:
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__name__
    text = repr(value)
    return "..." if "<" in text else text if '"' in text else text.replace("'", '"')


def _shown(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def described(doc: str, own: tuple[str, ...] = ()) -> list[str]:
    """A docstring as Markdown: paragraphs, parameters as a list, examples as code."""
    lines = _linked(doc, own).split("\n")
    parts: list[tuple[str, list[str]]] = [("", [])]
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", below):
            parts.append((line, []))
        elif not re.fullmatch(r"-{3,}", line):
            parts[-1][1].append(line)
    shown: list[str] = []
    for heading, body in parts:
        shown += [f"**{heading}**", ""] if heading else []
        shown += _listed(body) if heading in ("Parameters", "Attributes") else _paragraphs(body)
    return shown


def _linked(doc: str, own: tuple[str, ...]) -> str:
    """Public names between single backticks lead to where they are described; words of the signature stay as they are."""

    def link(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in own or (name not in links() and name not in set(cal.catalogue)):
            return match.group(0)
        target = f"#{links()[name]}" if name in links() else f"../metrics/{name}.md"
        return f"[`{name}`]({target})"

    return re.sub(r"(?<!`)`(\w+)`(?!`)", link, doc)


def _listed(body: list[str]) -> list[str]:
    """Names at the margin and what they mean below them, as a list."""
    shown: list[str] = []
    for line in body:
        if line and not line.startswith(" "):
            names = ", ".join(f"`{re.sub(r'[`[].*', '', name) or name.strip('[]`')}`" for name in line.split(", "))
            shown.append(f"- {names}:")
        elif line.strip():
            shown.append(f"  {line.strip()}")
    return [*shown, ""]


def _paragraphs(body: list[str]) -> list[str]:
    shown: list[str] = []
    for part in re.split(r"\n{2,}", "\n".join(body).strip("\n")):
        code = part.lstrip().startswith(">>>")
        shown += ["```pycon", part, "```", ""] if code else [part, ""] if part else []
    return shown


def members(thing: Any) -> list[str]:
    """What a class has: the fields of a result, and its public methods, each with the first sentence of its docstring."""
    lines: list[str] = []
    named = [field.name for field in fields(thing) if not field.name.startswith("_")] if is_dataclass(thing) else []
    if len(named) > FEW_FIELDS:
        lines += [f"Fields: {', '.join(f'`{name}`' for name in named)}.", ""]
    found: dict[str, Any] = {}
    beside: list[str] = []
    for base in thing.__mro__:
        if not base.__module__.startswith("calibrant") or issubclass(base, BaseException):
            continue
        if base is not thing and base.__name__ in links() and not base.__module__.startswith("calibrant.torch"):
            beside = [f"And what [`{base.__name__}`](#{links()[base.__name__]}) has.", ""]
            break
        for name, what in vars(base).items():
            is_told = inspect.isfunction(what) or isinstance(what, property | classmethod | staticmethod)
            if is_told and not name.startswith("_") and name not in named:
                found.setdefault(name, what)
    told = {name: _method(thing.__name__, name, what) for name, what in found.items()}
    short = [line for line, _ in told.values() if line]
    return [*lines, *short, "", *beside, *(line for _, long in told.values() for line in long)]


def _method(owner: str, name: str, what: Any) -> tuple[str, list[str]]:
    """A line for a list; or, where the parameters are explained, a part of its own."""
    is_static = isinstance(what, staticmethod)
    inner = what.__func__ if isinstance(what, classmethod | staticmethod) else what
    doc = inspect.getdoc(inner) or ""
    call = "" if isinstance(what, property) else signature(name, inner, bound=not is_static)
    if "\nParameters\n---" in doc:
        own = tuple(inspect.signature(inner).parameters)
        call = signature(f"{owner}.{name}", inner, bound=not is_static)
        return "", [f"#### {owner}.{name}", "", "```python", call, "```", "", *described(doc, own)]
    first = _linked(doc.split("\n\n")[0].replace("\n", " "), ())
    return f"- `{' '.join(call.split()) or name}`{': ' + first if first else ''}", []


def shown_entry(entry: Entry) -> list[str]:
    """A name with everything that is said of it."""
    thing, is_class = entry.thing, inspect.isclass(entry.thing)
    lines = [f"({entry.label})=", f"### {entry.name}", ""]
    is_result = is_class and is_dataclass(thing) and len(fields(thing)) > FEW_FIELDS
    is_hidden = is_result or (is_class and issubclass(thing, BaseException)) or entry.name == "Metric"
    call = "" if is_hidden else signature(entry.spoken + entry.name, thing)
    lines += ["```python", call, "```", ""] if call else []
    doc = DOCS.get(entry.name) or inspect.getdoc(thing if callable(thing) else type(thing)) or ""
    own = tuple(inspect.signature(thing).parameters) if call else ()
    return [*lines, *described(doc, own), *(members(thing) if is_class else [])]


# Things whose docstring is the entry of something else.
DOCS = {"Metric": "A metric: call it with labels and probabilities; its attributes are its entry in the catalogue."}


def page(room: str) -> str:
    """One room as Markdown."""
    content = ROOMS[room]
    own = [entry for entry in entries() if entry.room == room]
    lines = [f"# {content.title}", "", f"{content.about} There is [a guide](../{content.guide}).", ""]
    if room == "measure":
        lines += ["Every metric has a [page of its own](../metrics/index.md), and all are called alike:"]
        lines += ["`cal.ece(y_true, y_prob, lens=..., where=..., sample_weight=...)`.", ""]
    for section in content.sections:
        names = ", ".join(f"[{e.name}](#{e.label})" for e in own if e.section == section.title)
        lines += [f"- **{section.title}**: {names}"]
    lines.append("")
    for section in content.sections:
        lines += [f"## {section.title}", ""]
        for entry in own:
            if entry.section == section.title:
                lines += shown_entry(entry)
    if room == "measure":
        lines += _metrics()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip("\n") + "\n"


def _metrics() -> list[str]:
    """All metrics by family, each a link to its page."""
    lines = ["## All metrics", ""]
    for family, subfamilies in cal.catalogue.tree().items():
        for subfamily, metrics in subfamilies.items():
            linked = ", ".join(f"[{metric.id}](../metrics/{metric.id}.md)" for metric in metrics)
            lines.append(f"- {family.capitalize()}, {subfamily}: {linked}")
    return [*lines, ""]


def index() -> str:
    """The rooms, with the names that each has."""
    lines = [
        "# Reference",
        "",
        "Every public name, as its docstring has it. `import calibrant as cal` gives all but those of PyTorch, Spark",
    ]
    lines += [
        "and scikit-learn, which have modules of their own. The metrics have [pages of their own](../metrics/index.md), and the"
    ]
    lines += ["[command line](../command-line.md) has one.", ""]
    for room, content in ROOMS.items():
        lines += [
            f"- [{content.title}]({room}.md): " + "; ".join(s.title[0].lower() + s.title[1:] for s in content.sections)
        ]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *ROOMS, "```", ""])


def pages() -> dict[str, str]:
    """What each file holds; the page of PyTorch only where it is installed."""
    rooms = [room for room in ROOMS if room != "torch" or find_spec("torch") is not None]
    return {"index.md": index(), **{f"{room}.md": page(room) for room in rooms}}


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(links())} names of calibrant in docs/reference")


if __name__ == "__main__":
    main()
