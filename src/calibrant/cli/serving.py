"""``calibrant monitor serve``: names of the models, and the service until it is stopped."""

from __future__ import annotations

import errno
import os
from threading import Thread

from ..errors import ArgumentError
from ..monitoring.databases import database_of, is_url
from ..monitoring.fleet import FleetModel, load_fleet, patience_of
from .config import configuration_file, is_configured
from .http_service import Service, is_loopback, print_log
from .model_documents import Models
from .screen import clean, hide_seconds, say

__all__ = ["models_of", "run"]


def run(stores: tuple[str, ...], host: str, port: int, verbose: bool) -> None:
    """Serve the models until SIGTERM (the command then exits with 0) or SIGINT (130)."""
    if not 0 <= port <= 65535:
        raise ArgumentError("--port", f"must be between 0 and 65535; got {port}")
    if not is_loopback(host) and is_configured("host"):
        raise ArgumentError(
            "--host", f"{host!r} is in the configuration, and opens the service to other machines", "give it here"
        )
    models = Models(*models_of(stores))
    service = Service(models, host, port, print_log if verbose else None)
    hide_seconds(bar=True)  # there is nothing to wait for
    try:
        service.run(_announce)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            problem = "is in use" if error.errno == errno.EADDRINUSE else "is not permitted"
            raise ArgumentError("--port", f"{port} {problem}", "choose another, or 0 for any free one") from None
        raise ArgumentError("--host", f"cannot listen on {host!r} ({error.strerror})", "use 127.0.0.1") from None


def models_of(stores: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str], dict[str, int]]:
    """The stores by the names of their models, and the owners and the durations until they are stale of those that have one.

    A store is ``NAME=STORE``, a store with its own name, or a configuration or folder of them with tables ``[models.NAME]``; without
    any, the models are those of the configuration.
    """
    found: dict[str, str] = {}
    owners: dict[str, str] = {}
    stale: dict[str, int] = {}

    def add(name: str, store: str) -> None:
        if name in found:
            raise ArgumentError("STORE", f"two models have the name {name!r}", "write NAME=STORE for one of them")
        if not name or name in (".", "..") or not name.isprintable() or not store:
            raise ArgumentError("STORE", f"{clean(name)!r} is not a name for a model", "write NAME=STORE")
        database_of(store)  # raises for URLs that cannot be read, which are not shown
        found[name] = store

    for given in stores or (str(configuration_file() or ""),):
        if not given or given.endswith(".toml") or os.path.isdir(given):
            for model in _fleet(given):
                add(model.name, model.store)
                owners |= {} if model.owner is None else {model.name: model.owner}
                own = patience_of(model)
                stale |= {} if own is None else {model.name: own}
            continue
        name, equals, store = given.partition("=")
        if not equals or "://" in name or os.path.exists(given):
            name, store = database_of(given).name, given
        add(name, store)
    return found, owners, stale


def _fleet(place: str) -> tuple[FleetModel, ...]:
    """The models of a configuration or of a folder of them."""
    models = load_fleet(place) if place else ()
    if not models:
        where = f"{place} has no tables [models.NAME]" if place else "is required, since no configuration names models"
        raise ArgumentError("STORE", where, "name a store")
    return models


def _announce(service: Service) -> None:
    paths = service.models.paths
    for name, path in paths.items():
        if not is_url(path) and not os.path.exists(path):
            say(
                clean(f"warning: {name}: {path} does not exist; the model is shown as unreadable until it does"),
                err=True,
            )
    if not is_loopback(service.host):
        say(
            f"warning: --host {service.host}: there is no authentication and no encryption; everyone who can reach this port can read "
            "all models",
            err=True,
        )
    shown = f"[{service.host}]" if ":" in service.host else service.host
    count = "1 model" if len(paths) == 1 else f"{len(paths)} models"
    say(f"Serving {count} at http://{shown}:{service.port}/ (read only; Ctrl-C stops it)")
    # The first look at a store takes longest; it need not wait for the first request.
    Thread(target=service.models.all_statuses, daemon=True).start()
