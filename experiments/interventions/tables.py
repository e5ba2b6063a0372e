"""The page, with its tables, from the numbers in results.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .reading import TEXT, in_sentences, reading
from .summary import beyond_chance, change, in_words, number
from .train import BASE

Results = dict[str, Any]
Read = Callable[[str], list[float]]
ARROWS = {-1: " ↓", 0: "", 1: " ↑"}


def table(head: list[str], rows: list[list[str]]) -> str:
    """Rows as Markdown."""
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def compared(results: Results, columns: dict[str, Read], digits: int = 3) -> str:
    """A row for each model: mean and spread of each column, with an arrow where it clearly differs from the base network."""
    rows = []
    for model in results["measured"]:
        cells = []
        for read in columns.values():
            arrow = "" if model == BASE else ARROWS[change(read(BASE), read(model))]
            cells.append(in_words(read(model), digits) + arrow)
        rows.append([model, *cells])
    return table(["model", *columns], rows)


def reader(results: Results, key: str, *places: Any) -> Read:
    """A column: one number for each seed of a model."""
    return lambda model: number(results, model, key, *places)


def strengths(results: Results) -> str:
    """What was tried, and what was taken."""
    rows = []
    for name, tried in results["choices"].items():
        for one in tried:
            value = one["strength"]
            words = f"rate {value[0]:g}, weight decay {value[1]:g}" if isinstance(value, list) else str(value)
            taken = "chosen" if one["chosen"] else ""
            rows.append([name, words, f"{one['accuracy']:.3f}", f"{one['ece']:.4f}", taken])
    return table(["model", "strength", "accuracy", "traditional error", ""], rows)


def accuracies(results: Results) -> str:
    """Top-1 accuracy, and the accuracy lost or won."""
    base = number(results, BASE, "accuracy")
    rows = []
    for model in results["measured"]:
        own = number(results, model, "accuracy")
        gaps = [b - a for a, b in zip(base, own, strict=True)]
        arrow = "" if model == BASE else ARROWS[change(base, own)]
        rows.append([model, in_words(own, 4) + arrow, "" if model == BASE else in_words(gaps, 4)])
    return table(["model", "accuracy", "minus the base network"], rows)


def errors(results: Results) -> str:
    """The errors and scores of the whole test set."""
    columns: dict[str, Read] = {
        "traditional": reader(results, "ece"),
        "top-1, adaptive": reader(results, "top_k", 0),
        "full": reader(results, "full"),
        "NLL": reader(results, "nll"),
        "Brier": reader(results, "brier"),
        "entropy": reader(results, "entropy"),
    }
    return compared(results, columns)


def by_chance(results: Results) -> str:
    """The errors, those of labels simulated from the probabilities, and their difference."""

    def gap(model: str) -> list[float]:
        both = number(results, model, "confidence"), number(results, model, "accuracy")
        return [claimed - right for claimed, right in zip(*both, strict=True)]

    columns: dict[str, Read] = {"confidence minus accuracy": gap}
    for key, words in (("ece", "traditional"), ("full", "full")):
        columns[f"{words}, simulated labels"] = reader(results, "chance", key)
        columns[f"{words}, excess"] = lambda model, key=key: beyond_chance(results, model, key)
    return compared(results, columns)


def top_k(results: Results) -> str:
    """The error of the k most likely classes."""
    most = len(results["measured"][BASE][0]["top_k"])
    wanted = [k for k in (1, 2, 3, 5, 10, 20, 50, 100) if k <= most]
    return compared(results, {f"k = {k}": reader(results, "top_k", k - 1) for k in wanted})


def top_k_accuracy(results: Results) -> str:
    """Top-k accuracy."""
    most = len(results["measured"][BASE][0]["top_k"])
    return compared(
        results, {f"k = {k}": reader(results, "top_k_accuracy", k - 1) for k in (1, 2, 3, 5, 10) if k <= most}
    )


def groups(results: Results) -> str:
    """The error at each level, and of the rows of each group."""
    from calibrant.figures.classgroups import levels_of

    hierarchy = results["plan"]["hierarchy"]
    steps = levels_of(hierarchy["groups"])
    names = [f"{name} ({len(step.groups)})" for name, step in zip(hierarchy["names"], steps, strict=True)]
    columns = {
        name: reader(results, "levels", place)
        for place, name in enumerate([*names, f"classes ({len(results['classes'])})"])
    }
    for place, name in enumerate(steps[hierarchy["level"] - 1].groups):
        columns[f"rows of *{name}*"] = reader(results, "groups", place)
    return compared(results, columns)


def group_confidence(results: Results) -> str:
    """Mean confidence in each group for rows of one."""
    from calibrant.figures.classgroups import levels_of

    hierarchy = results["plan"]["hierarchy"]
    names = levels_of(hierarchy["groups"])[hierarchy["level"] - 1].groups
    return compared(
        results, {f"in *{name}*": reader(results, "group_confidence", place) for place, name in enumerate(names)}
    )


def intervals(results: Results) -> str:
    """Rows, rates outside and errors of each interval."""
    columns: dict[str, Read] = {}
    for key, words in (("outside", "outside"), ("error", "error")):
        for place, name in enumerate(results["plan"]["intervals"]["names"]):
            columns[f"{name}, {words}"] = reader(results, "intervals", key, place)
    return compared(results, columns)


def interval_rows(results: Results) -> str:
    """How many rows each interval holds."""
    names = results["plan"]["intervals"]["names"]
    columns = {f"{name}, rows": reader(results, "intervals", "rows", place) for place, name in enumerate(names)}
    return compared(results, columns, 0)


def temperatures(results: Results) -> str:
    """Fitted temperatures in a sentence."""
    return "; ".join(f"{name} {in_words(values, 2)}" for name, values in results["temperatures"].items())


def page(results: Results) -> str:
    """The whole text."""
    plan, rows = results["plan"], results["rows"]
    return TEXT.format(
        seeds=len(plan["measuring"]["seeds"]),
        train=rows["train"],
        validation=rows["validation"],
        test=f"{rows['test']:,}",
        noise=f"{plan['data'].get('noise', 0):g}",
        width=plan["network"]["width"],
        epochs=plan["network"]["epochs"],
        loss=f"{100 * plan['tuning']['most_loss']:g}",
        gamma=f"{plan['measuring']['gamma']:g}",
        bins=plan["measuring"]["bins"],
        draws=plan["measuring"]["chance_draws"],
        group=plan["intervals"]["group"],
        given=plan["hierarchy"]["given"],
        minutes=f"{max(results['seconds'] / 60, 0.1):.0f}",
        strengths=strengths(results),
        accuracies=accuracies(results),
        errors=errors(results),
        by_chance=by_chance(results),
        top_k=top_k(results),
        top_k_accuracy=top_k_accuracy(results),
        groups=groups(results),
        group_confidence=group_confidence(results),
        intervals=intervals(results),
        interval_rows=interval_rows(results),
        temperatures=temperatures(results),
        reading=reading(results),
        words=in_sentences(results),
    )
