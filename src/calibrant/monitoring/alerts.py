"""Channels of alerts: a webhook, e-mail and a command, as described in the table ``[alerts]`` of a configuration.

Secrets are named by environment variables and read when a message is sent. Nothing here prints or stores them: an error names the variable,
the status of a response or the class of an exception, never an address or the text of a server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from .outbox import AlertError, Channels

__all__ = ["read_channels"]

TIMEOUT = 5.0
"""Seconds for each step of a connection, and for a command."""
LONGEST = 60.0
STEPS = 4
"""Times that for all steps together: a server that sends a byte now and then ends no step."""
KEYS = {
    "": ("webhook-env", "authorization-env", "command", "email", "timeout"),
    "email": ("host", "port", "from", "to", "tls", "user", "password-env"),
}
PORTS = {"starttls": 587, "ssl": 465, "none": 25}
SHOWN = 3000
"""Characters of a text; chat services truncate longer ones."""


def read_channels(alerts: Mapping[str, Any], folder: Path) -> Channels:
    """Check the table ``[alerts]`` and return the function that sends a message for each of its channels."""
    _check_keys(alerts, "")
    timeout = alerts.get("timeout", TIMEOUT)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST:
        raise _wrong("timeout", f"must be a number of seconds up to {LONGEST:g}; got {timeout!r}")
    channels: dict[str, Any] = {}
    if "webhook-env" in alerts:
        headers = None if "authorization-env" not in alerts else _text(alerts, "authorization-env")
        post = partial(_post, _text(alerts, "webhook-env"), headers, timeout)
        channels["webhook"] = partial(_within, STEPS * timeout, "webhook", post)
    elif "authorization-env" in alerts:
        raise _wrong("authorization-env", "has no effect without webhook-env", "name the variable with the address")
    if "email" in alerts:
        mail = partial(_mail, _mailbox(alerts["email"]), timeout)
        channels["email"] = partial(_within, STEPS * timeout, "mail server", mail)
    if "command" in alerts:
        command = alerts["command"]
        if not isinstance(command, list) or not command or not all(isinstance(part, str) and part for part in command):
            raise _wrong("command", "must be a list of a program and its arguments", 'for example ["./notify.sh"]')
        channels["command"] = partial(_call, command, folder, timeout)
    return channels


def _wrong(key: str, problem: str, remedy: str = "") -> ArgumentError:
    return ArgumentError(f"[alerts] {key}", problem, remedy)


def _check_keys(table: Mapping[str, Any], place: str) -> None:
    from difflib import get_close_matches

    for key in table:
        if key not in KEYS[place]:
            if key in ("webhook", "password", "authorization"):
                problem, remedy = "is a secret", f"write {key}-env with the name of an environment variable"
            else:
                near = get_close_matches(key, KEYS[place], 1)
                problem = "unknown key"
                remedy = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(KEYS[place])}"
            raise _wrong(f"{place}.{key}" if place else key, problem, remedy)


def _text(table: Mapping[str, Any], key: str, place: str = "") -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value or "\n" in value:
        raise _wrong(f"{place}.{key}" if place else key, "must be text" if key in table else "is required")
    return value


def _secret(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise AlertError(f"the environment variable {variable} is not set")
    return value.strip()


def _within(
    seconds: float, what: str, send: Callable[[dict[str, Any]], str | None], message: dict[str, Any]
) -> str | None:
    """Send a message in a thread, which is left alone after some seconds: the timeouts of a socket hold for each step only."""
    from threading import Thread

    found: list[AlertError] = []
    notes: list[str | None] = []

    def work() -> None:
        try:
            notes.append(send(message))
        except AlertError as error:
            found.append(error)
        except Exception as error:  # its text may contain a secret
            found.append(AlertError(f"the {what} could not be used ({_kind(error)})"))

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise AlertError(f"the {what} did not answer within {seconds:g} s")
    if found:
        raise found[0]
    return notes[0]


def _post(variable: str, authorization: str | None, timeout: float, message: dict[str, Any]) -> None:
    """Post a message as JSON; its `text` is what Slack, Mattermost and similar services show."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.parse import urlsplit
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """A message goes to the configured address and nowhere else."""

        def redirect_request(self, *_: Any) -> None:
            return None

    address = _secret(variable)
    try:
        if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
            raise ValueError
        headers = {"Content-Type": "application/json", "User-Agent": "calibrant", "Idempotency-Key": message["id"]}
        headers |= {} if authorization is None else {"Authorization": _secret(authorization)}
        content = json.dumps({**message, "text": _escaped(message["text"])}).encode()
        request = Request(address, content, headers, method="POST")  # noqa: S310 - checked above
    except ValueError:
        raise AlertError(f"{variable} does not contain an address that begins with https:// or http://") from None
    try:
        # Its status says that the message was taken; a body that does not end would change nothing about that.
        build_opener(Stay).open(request, timeout=timeout).close()
    except HTTPError as error:
        error.close()
        raise AlertError(f"the webhook answered with status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise AlertError(f"the webhook could not be reached ({_kind(error)})") from None


def _kind(error: BaseException) -> str:
    """The class of an error, or of its reason; its text may contain an address."""
    reason = getattr(error, "reason", None)
    return type(reason if isinstance(reason, BaseException) else error).__name__


def _escaped(text: str) -> str:
    """Text in which names from data cannot become links or mentions."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text if len(text) <= SHOWN else text[:SHOWN] + " ..."


def _mailbox(table: Any) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise _wrong("email", "must be a table", "write [alerts.email]")
    _check_keys(table, "email")
    tls, port = table.get("tls", "starttls"), table.get("port")
    if tls not in PORTS:
        raise _wrong("email.tls", f"must be one of {', '.join(PORTS)}; got {tls!r}")
    if port is not None and (isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536):
        raise _wrong("email.port", f"must be a port; got {port!r}")
    to = table.get("to")
    to = [to] if isinstance(to, str) else to
    if not isinstance(to, list) or not to or not all(isinstance(each, str) and "@" in each for each in to):
        raise _wrong("email.to", "must be one or more addresses")
    if ("user" in table) != ("password-env" in table):
        raise _wrong("email.user", "user and password-env belong together", "give both or none")
    if "user" in table and tls == "none":
        raise _wrong("email.tls", "a password is not sent without encryption", 'use "starttls" or "ssl"')
    own = {key: _text(table, key, "email") for key in ("user", "password-env") if key in table}
    named = {key: _text(table, key, "email") for key in ("host", "from")}
    return {**named, **own, "tls": tls, "port": port or PORTS[tls], "to": to}


def _mail(box: Mapping[str, Any], timeout: float, message: dict[str, Any]) -> str | None:
    """Send a message as plain text; its Message-ID is the id of the message. Returns a note if it was not taken for all recipients."""
    import smtplib
    import ssl
    from email.errors import MessageError
    from email.message import EmailMessage

    mail = EmailMessage()
    first = message["text"].partition("\n")[0]
    secret = _secret(box["password-env"]) if "user" in box else ""
    try:
        mail["Subject"] = " ".join("".join(c if c.isprintable() else " " for c in f"[calibrant] {first}").split())[:200]
        mail["From"], mail["To"] = box["from"], ", ".join(box["to"])
        mail["Message-ID"] = f"<{message['id']}@calibrant>"
        mail.set_content(message["text"] + "\n")
        secured = ssl.create_default_context()
        kind = partial(smtplib.SMTP_SSL, context=secured) if box["tls"] == "ssl" else smtplib.SMTP
        server = kind(box["host"], box["port"], timeout=timeout)
        with closing(server):
            if box["tls"] == "starttls":
                server.starttls(context=secured)
            if "user" in box:
                server.login(box["user"], secret)
            unsent = server.send_message(mail)
            with suppress(OSError, smtplib.SMTPException):  # the message was taken
                server.quit()
    except smtplib.SMTPResponseException as error:
        raise AlertError(f"the mail server answered with status {error.smtp_code}") from None
    except (OSError, MessageError, ValueError, smtplib.SMTPException) as error:
        raise AlertError(f"the mail could not be sent ({_kind(error)})") from None
    count = len(box["to"])
    return (
        f"the mail server did not accept {len(unsent)} of {count} recipients; the others have the message"
        if unsent
        else None
    )


def _call(command: list[str], folder: Path, timeout: float, message: dict[str, Any]) -> None:
    """Call a program, without a shell, with the message as JSON on its standard input."""
    content = json.dumps(message).encode()
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    # A session of its own, so that what it has started ends with it.
    own: dict[str, Any] = {"stdin": subprocess.PIPE, "start_new_session": True}
    try:
        program = subprocess.Popen(command, **own, **quiet)  # noqa: S603 - named in the configuration
    except (OSError, ValueError) as error:
        raise AlertError(f"the command could not be started ({_kind(error)})") from None
    try:
        program.communicate(content, timeout)
    except BaseException as error:
        _end(program)
        if isinstance(error, subprocess.TimeoutExpired):
            raise AlertError(f"the command did not end within {timeout:g} s") from None
        raise
    if program.returncode:
        raise AlertError(f"the command ended with exit code {program.returncode}")


def _end(program: subprocess.Popen[bytes]) -> None:
    """End a program with all processes of its group; Windows knows no groups."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(program.pid, signal.SIGKILL)
        else:
            program.kill()
    program.wait()
