"""@metric, preset and the catalogue: one declaration gives the call, the checks, the documentation and the entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from ._facts import FACTS
from ._keywords import unknown_word
from ._metric import Metric
from .errors import AmbiguousMetricError, ArgumentError, UnknownMetricError

__all__ = ["Catalogue", "Metric", "catalogue", "metric", "preset"]


class Catalogue(Mapping[str, Metric]):
    """Every metric by id; lookup also takes the names and aliases of the literature."""

    def __init__(self) -> None:
        self._entries: dict[str, Metric] = {}

    @property
    def _metrics(self) -> dict[str, Metric]:
        # Whoever asks first fills it; while the metrics are being declared, what is there already is all there is.
        import_module(".metrics", __package__)
        return self._entries

    def add(self, metric: Metric) -> None:
        """Enter a metric; ids are unique."""
        if metric.id in self._metrics:
            raise ArgumentError("metric", f"the id {metric.id!r} is taken", "choose another id")
        self._metrics[metric.id] = metric

    def __getitem__(self, name: str) -> Metric:
        if not isinstance(name, str):
            raise UnknownMetricError("metric", f"must be a name; got {type(name).__name__}", "for example 'ece'")
        if name in self._metrics:
            return self._metrics[name]
        found = [
            m for m in self._metrics.values() if _plain(name) in {_plain(alias) for alias in (m.id, m.name, *m.aliases)}
        ]
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(f"{m.id} ({m.reference.split(':')[0]}: {m.name})" for m in found)
            raise AmbiguousMetricError("metric", f"{name!r} names {len(found)} metrics", f"use the id: {listed}")
        from difflib import get_close_matches

        ids = {_plain(alias): m.id for m in self._metrics.values() for alias in (*m.aliases, m.name, m.id)}
        near = list(dict.fromkeys(ids[match] for match in get_close_matches(_plain(name), ids, 3, 0.6)))
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`calibrant metrics` lists them all"
        raise UnknownMetricError("metric", f"there is no metric {name!r}", hint)

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except (UnknownMetricError, AmbiguousMetricError):
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """The metric of this name, or `default` where there is none; a name of several metrics still raises."""
        try:
            return self[name]
        except UnknownMetricError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def find(self, text: str = "", **criteria: Any) -> list[Metric]:
        """Metrics whose entry has these values; a tuple field matches if it holds the value, `text` is searched everywhere.

        >>> import calibrant as cal
        >>> [m.id for m in cal.catalogue.find(proper="strictly")]
        ['brier', 'nll', 'spherical', 'ranked_probability', 'dawid_sebastiani']
        """
        fields = next(iter(self._metrics.values())).to_dict() if self._metrics else {}
        for field in criteria:
            if field not in fields:
                raise unknown_word("find", field, criteria[field], list(fields))

        def fits(entry: dict[str, Any]) -> bool:
            for field, wanted in criteria.items():
                value = entry[field]
                if value != wanted and not (isinstance(value, tuple) and field != "range" and wanted in value):
                    return False
            return text.lower() in " ".join(map(str, entry.values())).lower()

        return [m for m in self._metrics.values() if fits(m.to_dict())]

    def tree(self) -> dict[str, dict[str, list[Metric]]]:
        """Metrics by family and subfamily."""
        branches: dict[str, dict[str, list[Metric]]] = {}
        for m in self._metrics.values():
            branches.setdefault(m.family, {}).setdefault(m.subfamily, []).append(m)
        return branches

    def __repr__(self) -> str:
        lines = [f"{len(self)} calibration metrics"]
        width = max(map(len, self), default=0)
        for family, subfamilies in self.tree().items():
            lines.append(family)
            for subfamily, metrics in subfamilies.items():
                lines.append(f"  {subfamily}")
                lines.extend(f"    {m.id:<{width}}  {m.name}" for m in metrics)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        parts = [f"<p>{len(self)} calibration metrics</p>"]
        for family, subfamilies in self.tree().items():
            inner = "".join(
                f"<li>{escape(subfamily)}<ul>"
                + "".join(f"<li><code>{escape(m.id)}</code> {escape(m.name)}</li>" for m in metrics)
                + "</ul></li>"
                for subfamily, metrics in subfamilies.items()
            )
            parts.append(f"<details open><summary>{escape(family)}</summary><ul>{inner}</ul></details>")
        return "".join(parts)


catalogue = Catalogue()


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def metric(name: str, **facts: Any) -> Callable[[Callable[..., Any]], Metric]:
    """Declare a metric: the decorated function is its formula over a View, a VectorView or the Blocks of one.

    What the formula reads is said by the annotation of its first argument. A Block formula gives one number per row, and
    the metric is their weighted mean.
    """

    def declare(formula: Callable[..., Any]) -> Metric:
        annotation = next(iter(formula.__annotations__.values()), None)
        takes = str(getattr(annotation, "__name__", annotation)).rsplit(".", 1)[-1]
        if takes not in ("View", "VectorView", "Block"):
            raise ArgumentError(
                formula.__name__,
                "must annotate its first argument with View, VectorView or Block",
                "for example def gap(view: View) -> float",
            )
        made = Metric(formula, formula.__name__, name, takes=takes, **facts)  # type: ignore[arg-type]
        catalogue.add(made)
        return made

    return declare


def preset(base: Metric, id: str, name: str, *, summary: str, **changes: Any) -> Metric:
    """Another metric that is `base` with other defaults: options of its formula, its lens, or facts of its entry."""
    facts = {field: getattr(base, field) for field in (*FACTS, "takes", "cite", "finish", "row_form", "reversed_by")}
    facts["above"] = base.declared_above  # options of the preset may reverse it
    defaults = dict(base.options)
    for key, value in changes.items():
        if key in defaults:
            defaults[key] = value
        else:
            facts[key] = value
    explain = {**base.explain, **facts.pop("explain", {}), "summary": summary}
    made = Metric(base.formula, id, name, defaults=defaults, explain=explain, base=base.id, **facts)
    catalogue.add(made)
    return made
