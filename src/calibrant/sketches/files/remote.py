"""Files in object stores and behind web addresses: copied to this machine, where the user allowed it, and then read as any other."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ...errors import FileError
from ...util.temporary import process_folder

ALLOW = "CALIBRANT_ALLOW_REMOTE"
"""Environment variable that must be 1 before an address is read: without it no request leaves the machine."""
SECONDS = 30
# Copies by address, with the state of the object that they were made from.
_copies: dict[str, tuple[Any, str]] = {}


def is_remote(name: str) -> bool:
    """Whether a name is an address such as ``s3://bucket/key``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", name) is not None


def address_of(path: str) -> str | None:
    """The address that a copy was made from; None for other files."""
    return next((address for address, (_, copy) in _copies.items() if copy == path), None)


def fetched(address: str) -> list[str]:
    """Copies of the files of an address, or of a pattern of keys in a bucket; one that has not changed is not copied again."""
    try:
        parts = urlsplit(address)
        shown = f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:  # not shown, since it may hold credentials
        raise FileError("address", "is not a valid address", "check its host and port") from None
    if parts.scheme not in ("s3", "http", "https"):
        remedy = "copy the file to this machine; s3://, http:// and https:// are supported"
        raise FileError(shown, f"addresses with {parts.scheme}:// are not supported", remedy)
    # Addresses appear in results, pages and messages. In a key of a bucket, a question mark may stand for any character.
    signed = parts.query if parts.scheme != "s3" else re.match(r"[\w-]+=", parts.query)
    if parts.password or parts.username or signed:
        what = "a query, which may hold a signature" if signed else "credentials"
        remedy = "set the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3://, or copy the file"
        raise FileError(shown, f"the address contains {what}, and would appear in results", remedy)
    if os.environ.get(ALLOW) != "1":
        problem = "is not on this machine, and calibrant does not use the network unless this is allowed"
        raise FileError(shown, problem, f"set the environment variable {ALLOW}=1, or copy the file")
    return _from_bucket(address) if parts.scheme == "s3" else [_from_web(address)]


def _from_web(address: str) -> str:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(address), timeout=SECONDS) as answer:  # noqa: S310 - the scheme was checked
            state = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
            length = answer.headers.get("Content-Length")
            size = int(length) if length and length.isdecimal() else None
            return _copied(address, state, size, lambda file: _pour(answer, file))
    except FileError:
        raise
    except HTTPError as error:
        raise FileError(address, f"cannot be read (HTTP {error.code})", "check the address") from None
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        detail = f" ({type(reason).__name__})" if isinstance(reason, Exception) else ""
        problem = f"the server cannot be reached{detail}"
        raise FileError(address, problem, "check the address and the network") from None


def _from_bucket(address: str) -> list[str]:
    with _bucket_failures(address):
        store = _s3()
        from pyarrow import fs

        key = address.removeprefix("s3://")
        names = [key]
        if any(sign in key for sign in "*?["):
            folder = re.split(r"[*?\[]", key)[0].rpartition("/")[0]
            listed = store.get_file_info(fs.FileSelector(folder, recursive=True))
            depth = key.count("/")
            names = sorted(
                found.path
                for found in listed
                if found.type == fs.FileType.File
                and found.path.count("/") == depth
                and all(map(fnmatchcase, found.path.split("/"), key.split("/")))
            )
            if not names:
                raise FileError(address, "no object matches", "check the pattern")
        found = []
        for name in names:
            info = store.get_file_info(name)
            if info.type != fs.FileType.File:
                raise FileError(f"s3://{name}", "there is no such object", "check the bucket and the key")
            state = (info.mtime_ns, info.size)

            def pour(file: Any, name: str = name) -> None:
                with store.open_input_stream(name) as stream:
                    _pour(stream, file)

            found.append(_copied(f"s3://{name}", state, info.size, pour))
        return found


def _s3() -> Any:
    """The object store that the usual environment variables name; anonymous without a key."""
    from pyarrow import fs

    own = os.environ.get
    options: dict[str, Any] = {"connect_timeout": SECONDS, "request_timeout": SECONDS}
    endpoint = own("AWS_ENDPOINT_URL_S3") or own("AWS_ENDPOINT_URL")
    if endpoint:
        parts = urlsplit(endpoint)
        options |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    if region := own("AWS_REGION") or own("AWS_DEFAULT_REGION") or ("us-east-1" if endpoint else None):
        options["region"] = region
    if own("AWS_ACCESS_KEY_ID"):
        keys = {"access_key": "ACCESS_KEY_ID", "secret_key": "SECRET_ACCESS_KEY", "session_token": "SESSION_TOKEN"}
        options |= {name: own(f"AWS_{variable}") for name, variable in keys.items() if own(f"AWS_{variable}")}
    else:
        options["anonymous"] = True
    return fs.S3FileSystem(retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=2), **options)


@contextmanager
def _bucket_failures(address: str) -> Iterator[None]:
    """Errors of the object store in one line, by their code only."""
    try:
        yield
    except FileError:
        raise
    except (OSError, ValueError) as error:
        text = str(error)
        code = found[1] if (found := re.search(r"AWS Error ([A-Z_]+)", text)) else type(error).__name__
        remedy = (
            "check the address, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, AWS_REGION and the network"
        )
        raise FileError(address, f"cannot be read ({code})", remedy) from None


def _pour(source: Any, file: Any) -> None:
    shutil.copyfileobj(source, file, 1 << 20)


def _copied(address: str, state: Any, length: int | None, pour: Callable[[Any], None]) -> str:
    """The copy of an object; an earlier one if its state is known and has not changed."""
    if address in _copies:
        known, copy = _copies[address]
        if state is not None and known == state and Path(copy).exists():
            return copy
        shutil.rmtree(Path(copy).parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(dir=process_folder()))
    copy = str(folder / (PurePosixPath(urlsplit(address).path).name or "file"))
    try:
        with open(copy, "wb") as file:
            pour(file)
        if length is not None and Path(copy).stat().st_size != length:
            raise FileError(address, f"ended after {Path(copy).stat().st_size:,} of {length:,} bytes", "try again")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _copies[address] = (state, copy)
    return copy
