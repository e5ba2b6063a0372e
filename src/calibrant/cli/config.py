"""Configuration: defaults for the options of the commands, in ``calibrant.toml`` or in ``pyproject.toml``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ..util.configuration import Configuration, find_configuration, read_configuration
from .invocation import Setting, running

# The keys at the top level: options that mean the same in every command that has them.
SHARED = (
    *("label", "prob", "probs", "logits", "confidence-column", "weight", "counts", "by", "where"),
    *("classes", "pos-label", "outcome", "format", "table", "normalize", "clip", "drop-missing"),
    *("metrics", "lens", "bins", "binning", "level", "resamples", "seed", "meta"),
)
# Commands in which such an option means something else.
EXCEPT = {"assess": ("by", "metrics"), "compare": ("logits",)}
# Parameters that exclude each other: one that is given replaces the others where they were configured.
FAMILIES = (
    ("prob", "probs", "logits", "confidence"),
    ("weight", "counts"),
    ("classes", "pos_label"),
    ("metric", "metrics"),
    ("accuracy", "coverage"),
    ("every", "rows"),
)
# Options that choose or describe the configuration, or one call only; a configuration runs no code.
UNCONFIGURED = ("help", "version", "config", "no-config", "debug", "plugin")


def _settings_of(configuration: Configuration, context: click.Context, path: list[str]) -> Iterator[Setting]:
    """The settings at the top level and in the tables of a command; a key that is unknown there raises."""
    command: click.Command | None = context.find_root().command
    assert isinstance(command, click.Group)
    commands = command.list_commands(context)
    for key, value in configuration.tables.items():
        if key in commands and isinstance(value, dict):
            continue
        if key in SHARED:
            yield Setting("", key, value)
        elif key in commands:
            raise configuration.error("is a command and must be a table", f"write [{key}]", "", key)
        else:
            raise configuration.error(*_unknown_key(key, [*SHARED, *commands], "key"), "", key)
    content: Any = configuration.tables
    for depth, name in enumerate(path):
        assert isinstance(command, click.Group)
        command, content = command.get_command(context, name), content.get(name, {})
        assert command is not None
        options, table = configurable_options(command), ".".join(path[: depth + 1])
        inner = command.list_commands(context) if isinstance(command, click.Group) else []
        for key, value in content.items():
            if key in options:
                yield Setting(table, key, value)
            elif key not in inner or not isinstance(value, dict):
                raise configuration.error(
                    *_unknown_key(key, [*options, *inner], f"option of {' '.join(path[: depth + 1])}"), table, key
                )


def _unknown_key(key: str, names: Collection[str], kind: str) -> tuple[str, str]:
    from ..util.checks import suggest  # imports NumPy, which is slow for --help

    return f"unknown {kind}", suggest(
        key, names, "an option of one command belongs in its table, such as [report]", 0.75
    )


def configurable_options(command: click.Command) -> dict[str, click.Option]:
    """The options of a command that can be configured, by their long names; for a group those of all its commands."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        commands = [command.get_command(context, name) for name in command.list_commands(context)]
        return {key: option for each in commands if each for key, option in configurable_options(each).items()}
    options = {}
    for option in command.params:
        for name in option.opts if isinstance(option, click.Option) else ():
            if name.startswith("--") and name[2:] not in UNCONFIGURED:
                options[name[2:]] = option
    return options  # type: ignore[return-value]


def apply_configuration(context: click.Context, typed: Mapping[str, Any]) -> None:
    """Make the configuration the defaults of a command; `given` are the parameters on the command line."""
    if typed.get("no_config"):
        if typed.get("config") is not None:
            raise click.UsageError("--no-config: cannot be combined with --config; give one of them")
        return
    file = typed.get("config")
    configuration = find_configuration() if file is None else read_configuration(Path(file), named=True)
    if configuration is None:
        return
    options = configurable_options(context.command)
    values, used = _option_values(configuration, context, options, context.command_path.split()[1:])
    _replace_family(values, typed)
    used = {name: setting for name, setting in used.items() if name in values and name not in typed}
    context.default_map = values
    running.configuration, running.settings = configuration, used
    running.typed = {*running.typed, *(f"--{setting.key}" for setting in used.values())}
    if typed.get("debug") and used:
        from .screen import say

        say(f"note: {', '.join(sorted(setting.key for setting in used.values()))} from {configuration.path}", err=True)


def _option_values(
    configuration: Configuration, context: click.Context, options: Mapping[str, click.Option], path: list[str]
) -> tuple[dict[str, Any], dict[str, Setting]]:
    """Values of the options of a command by parameter, and the settings that they come from."""
    settings = list(_settings_of(configuration, context, path))
    settings_used: dict[str, Setting] = {}
    values: dict[str, Any] = {}
    for table in ["", *(".".join(path[: depth + 1]) for depth in range(len(path)))]:
        of_table = [setting for setting in settings if setting.table == table and setting.key in options]
        of_table = [each for each in of_table if table or _is_meant(path, options[each.key], each)]
        _replace_family(values, {str(options[setting.key].name) for setting in of_table})
        for setting in of_table:
            name = str(options[setting.key].name)
            values[name] = _value(configuration, options[setting.key], setting.value)
            settings_used[name] = setting
    return values, settings_used


def _is_meant(path: list[str], option: click.Option, setting: Setting) -> bool:
    """Whether a key at the top level applies to a command that has an option of this name."""
    if setting.key == "by" and option.metavar == "COLUMN":  # a command with groups of one column only
        return isinstance(setting.value, str) and not re.search(r"[,/<>=()]| x ", setting.value)
    return setting.key not in EXCEPT.get(path[0], ())


def _replace_family(values: dict[str, Any], typed: Collection[str]) -> None:
    """Remove what was configured and is replaced by something else of its family."""
    for family in FAMILIES:
        if any(name in typed for name in family):
            for name in family:
                values.pop(name, None)


def _value(configuration: Configuration, option: click.Option, value: Any) -> Any:
    """The value of a setting as click takes it from the command line; click checks it."""
    if isinstance(value, dict):
        return [f"{key}={_text(configuration, option, each)}" for key, each in value.items()]
    if option.multiple or isinstance(option.type, click.Tuple):
        return [_text(configuration, option, each) for each in (value if isinstance(value, list) else [value])]
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    return value if option.is_flag else _text(configuration, option, value)


def _text(configuration: Configuration, option: click.Option, value: Any) -> str:
    """A value as it is typed; a path is relative to the folder of the configuration."""
    if isinstance(value, bool):
        return str(value).lower()
    folder = configuration.path.parent
    if option.metavar in ("FILE", "FOLDER") and value != "-" and folder.absolute() != Path.cwd():
        return str(folder / value)
    return str(value)


def is_configured(parameter: str) -> bool:
    """Whether a value comes from the configuration; as a default, it gives way to what it cannot be combined with."""
    return parameter in running.settings


def used_configuration() -> dict[str, Any]:
    """The name of the configuration, for the provenance of a report; empty where it has no settings for the command that runs."""
    return {"configuration": running.configuration.name} if running.configuration and running.settings else {}


def where_set(text: str, options: Collection[str] = ()) -> str:
    """An error with the file that its option, the first word by default, was set in."""
    option = next(iter(options), text.partition(":")[0]).removeprefix("--")
    values = {setting.key: setting.value for setting in running.settings.values()}
    if running.configuration is None or option not in values:
        return text
    remedy = f"; --no-{option} switches it off" if values[option] is True else ""
    return f"{text} ({option} is set in {running.configuration.name}{remedy})"
