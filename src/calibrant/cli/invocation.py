"""The command that runs: its options, what was typed and configured, and the files that it reads. Errors are worded by them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ..util.configuration import Configuration


class Setting(NamedTuple):
    """A value in the configuration."""

    table: str
    """Name of the table; empty at the top level."""
    key: str
    value: Any


class FilesRead(NamedTuple):
    """Files whose rows errors are about."""

    paths: tuple[str, ...]
    kind: str
    where: str | None


class Invocation:
    """What is known of the command that runs; a process runs one at a time."""

    options: Collection[str] = ()
    """The options and arguments that the command has."""
    typed: Collection[str] = ()
    """The options that were given, on the command line or in the configuration."""
    configuration: Configuration | None = None
    settings: dict[str, Setting]
    """The settings of the configuration in use, by parameter."""
    files: FilesRead | None = None

    def begin(self, options: Collection[str] = (), arguments: Sequence[str] = ()) -> None:
        """Forget an earlier command."""
        self.options, self.typed = options, {argument.partition("=")[0] for argument in arguments}
        self.configuration, self.settings, self.files = None, {}, None


running = Invocation()
running.begin()
