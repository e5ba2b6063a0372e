"""Chromium without a window, driven over a pipe by the standard library alone."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
]
LOCAL = ("file:", "data:", "blob:", "about:")
PATIENCE = 600.0


def find_chromium() -> str | None:
    """The browser's program: `CHROMIUM` of the environment, or the first of the usual names."""
    names = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


class Browser:
    """One browser process; everything it writes lies in a folder that goes with it."""

    def __init__(self, program: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="calibrant-browser-")
        to_read, self._write = _high_pipe()
        self._read, to_write = _high_pipe()
        self.pid = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={self.folder}", "about:blank"],
            {**os.environ, "HOME": self.folder},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, to_read, 3),
                (os.POSIX_SPAWN_DUP2, to_write, 4),
            ],
            setsid=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._pages: dict[str, Page] = {}

    def send(self, method: str, session: str | None = None, **params: Any) -> int:
        """Send one command and return its number."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._number

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events in the meantime go to the pages."""
        number, deadline = self.send(method, session, **params), time.monotonic() + PATIENCE
        while number not in self._answers:
            self.listen(deadline, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return dict(answer["result"])

    def listen(self, deadline: float, waiting_for: str) -> None:
        """Read what has come, or raise when nothing comes in time."""
        if not select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError(f"the browser did not answer {waiting_for} in {PATIENCE:.0f} s")
        came = os.read(self._read, 1 << 20)
        if not came:
            raise RuntimeError(f"the browser ended while {waiting_for} was asked")
        *whole, self._rest = (self._rest + came).split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self._pages:
                self._pages[message["sessionId"]].note(message["method"], message["params"])

    @contextlib.contextmanager
    def page(self, path: Path | str, **options: Any) -> Iterator[Page]:
        """A page opened from disk with the network off, or from the address of a service of the test; closed at the end."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        try:
            page.open(path, **options)
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)
            del self._pages[session]

    def close(self) -> None:
        """End the browser and all it started, and wait until it is gone."""
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            self.call("Browser.close")
        os.close(self._write)
        os.close(self._read)
        for _ in range(100):
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
            time.sleep(0.05)
        else:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        # What the browser started goes with it, and is gone when this returns.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.02)
        shutil.rmtree(self.folder, ignore_errors=True)

    def left(self) -> list[int]:
        """Processes of the browser that still live; ended ones that nobody has asked about do not count."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, group = entry.read_text().rpartition(")")[2].split()[:3]
                if int(group) == self.pid and state not in "ZX":
                    found.append(int(entry.parent.name))
        return found


class Page:
    """One tab: what it asked for, what went wrong in it, and hands to use it."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        self.problems: list[str] = []
        self.frames: list[Page] = []
        """Frames with an origin of their own, such as those of a notebook's outputs."""
        self._loaded = False

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def note(self, method: str, params: dict[str, Any]) -> None:
        """Keep what tests ask about."""
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console: {[arg.get('value', arg.get('description')) for arg in params['args']]}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"log: {params['entry']['text']}")
        elif method == "Target.attachedToTarget":
            frame = Page(self._browser, params["sessionId"])
            self.frames.append(frame)
            self._browser._pages[params["sessionId"]] = frame
            # What went wrong before is reported too.
            for domain in ("Runtime", "Log"):
                self._browser.send(f"{domain}.enable", params["sessionId"])
        elif method == "Page.loadEventFired":
            self._loaded = True

    def open(
        self,
        path: Path | str,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        media: str = "",
        scripts: bool = True,
    ) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        if isinstance(path, Path):
            no = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
            self.call("Network.emulateNetworkConditions", offline=True, **no)
        self.resize(width, height)
        self.emulate(dark=dark, media=media)
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        self.call("Page.navigate", url=path.resolve().as_uri() if isinstance(path, Path) else path)
        deadline = time.monotonic() + PATIENCE
        while not self._loaded:
            self._browser.listen(deadline, "the page to load")

    def wait_for_problem(self, text: str) -> None:
        """Listen until a problem with this text is reported."""
        deadline = time.monotonic() + PATIENCE
        while not any(text in problem for problem in self.problems):
            self._browser.listen(deadline, f"a problem with {text!r}")

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def emulate(self, *, dark: bool = False, media: str = "") -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def run(self, expression: str) -> Any:
        """Return the value of an expression, an asynchronous one awaited; an error names the problems that the page had before."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(
                "\n".join([details.get("exception", {}).get("description", details["text"]), *self.problems])
            )
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """One key, down and up, as from a keyboard."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def hover(self, x: float, y: float) -> None:
        self.call("Page.bringToFront")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, whole: bool = True) -> bytes:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        more = {"clip": clip} if whole else {}
        return base64.b64decode(
            self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **more)["data"]
        )

    def pdf(self) -> bytes:
        """The page as it prints on A4."""
        return base64.b64decode(
            self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)["data"]
        )


def _high_pipe() -> tuple[int, int]:
    """A pipe whose ends are not among the numbers given to the browser."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
