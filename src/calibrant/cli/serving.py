"""``calibrant monitor serve``: names of the models, and the service until it is stopped."""

from __future__ import annotations

import errno
from pathlib import Path
from threading import Thread

from ..errors import ArgumentError
from .config import is_configured
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
    paths = models_of(stores)
    models = Models(paths)
    service = Service(models, host, port, print_log if verbose else None)
    hide_seconds(bar=True)  # there is nothing to wait for
    try:
        service.run(_announce)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            problem = "is in use" if error.errno == errno.EADDRINUSE else "is not permitted"
            raise ArgumentError("--port", f"{port} {problem}", "choose another, or 0 for any free one") from None
        raise ArgumentError("--host", f"cannot listen on {host!r} ({error.strerror})", "use 127.0.0.1") from None


def models_of(stores: tuple[str, ...]) -> dict[str, Path]:
    """The path of each store by the name of its model: ``NAME=PATH``, or the name of the file."""
    found: dict[str, Path] = {}
    for store in stores:
        before, equals, after = store.partition("=")
        named = bool(equals) and not Path(store).exists()
        name, path = (before, Path(after)) if named else (Path(store).stem, Path(store))
        if not name or name in (".", "..") or not name.isprintable() or (named and not after):
            raise ArgumentError("STORE", f"{clean(store)!r} has no usable name", "write NAME=PATH")
        if name in found:
            raise ArgumentError("STORE", f"two models have the name {name!r}", "write NAME=PATH for one of them")
        found[name] = path
    return found


def _announce(service: Service) -> None:
    paths = service.models.paths
    for name, path in paths.items():
        if not path.exists():
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
