"""Chromium driven over its DevTools protocol, through a pipe; nothing beside it is needed."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-pipe",
)
LIMIT_S = 120.0
#: Gives a command the two ends of pipes that it is called with as 3 and 4, where it looks for them.
PIPED = """import fcntl, os, sys
ends = [fcntl.fcntl(int(it), fcntl.F_DUPFD, 10) for it in sys.argv[1:3]]
for place, end in enumerate(ends, 3):
    os.dup2(end, place)
os.execvp(sys.argv[3], sys.argv[3:])"""
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowDown": 40}


def script(name: str) -> str:
    """Return a script of this folder, which a tab can run."""
    return Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8").strip()


@dataclass(slots=True)
class Tab:
    """One tab; what it asks waits for its answer."""

    _read: int
    _write: int
    _session: str = ""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _rest: bytes = b""
    events: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a command of the protocol.

        Raises
        ------
        RuntimeError
            If the browser refuses it or says nothing for two minutes.
        """
        number = next(self._numbers)
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": number, "method": method, "params": parameters, **session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self.events.append(answer)

    def attach(self) -> None:
        """Open an empty tab, and let all that is asked from now on be asked of it."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = str(attached["sessionId"])
        for domain in ("Page", "Network", "Runtime"):
            self.ask(f"{domain}.enable")

    def offline(self) -> None:
        """Take the network away."""
        nothing = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.ask("Network.emulateNetworkConditions", offline=True, **nothing)

    def dress(self, width: int, height: int, *, dark: bool = False, script: bool = True) -> None:
        """Set the size of the window [px], the colours asked for, and whether scripts run."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def open(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self.events.clear()
        if self.run("location.href").partition("#")[0] == address.partition("#")[0]:
            self.ask("Page.navigate", url="about:blank")
            self.loaded()
            self.events.clear()
        self.ask("Page.navigate", url=address)
        self.loaded()

    def loaded(self) -> None:
        """Wait until the page that was asked for is loaded."""
        deadline = time.monotonic() + LIMIT_S
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > deadline:
                raise RuntimeError(f"A page was not loaded within {LIMIT_S:g} s.")
            self.events.append(self._next())

    def run(self, script: str) -> Any:
        """Return what a script gives in the page; a promise is waited for.

        Raises
        ------
        RuntimeError
            If it throws.
        """
        printed = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in printed:
            detail = printed["exceptionDetails"]
            raise RuntimeError(detail.get("exception", {}).get("description", detail["text"]))
        return printed["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key, by its name or its letter."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        how = {
            "key": key,
            "windowsVirtualKeyCode": KEYS.get(key, ord(key.upper()[0])),
            "modifiers": 8 if shift else 0,
        }
        self.ask(
            "Input.dispatchKeyEvent", type="keyDown", **({"text": text} if text else {}), **how
        )
        self.ask("Input.dispatchKeyEvent", type="keyUp", **how)

    def write(self, text: str) -> None:
        """Press the keys of a text."""
        for letter in text:
            self.press(letter)

    def picture(self, path: Path, clip: dict[str, float] | None = None) -> None:
        """Write a picture of the window, or of a part of the page, as PNG."""
        part = {"clip": {"scale": 1, **clip}, "captureBeyondViewport": True} if clip else {}
        printed = self.ask("Page.captureScreenshot", format="png", **part)
        path.write_bytes(base64.b64decode(printed["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], LIMIT_S)
            more = os.read(self._read, 1 << 20) if ready else b""
            if not more:
                raise RuntimeError("The browser ended, or said nothing for two minutes.")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def browser() -> Iterator[Tab]:
    """Yield an empty tab of a browser that ends with the block.

    Raises
    ------
    SystemExit
        If no browser is installed.
    """
    name = next(filter(None, map(shutil.which, NAMES)), None)
    if name is None:
        raise SystemExit(f"A browser must be on the PATH: one of {', '.join(NAMES)}.")
    here, theirs = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        command = [name, *FLAGS, f"--user-data-dir={profile}"]
        with subprocess.Popen(
            [sys.executable, "-c", PIPED, str(theirs[0]), str(here[1]), *command],
            pass_fds=(theirs[0], here[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            os.close(theirs[0])
            os.close(here[1])
            tab = Tab(here[0], theirs[1])
            try:
                tab.attach()
                yield tab
            finally:
                process.terminate()
                os.close(here[0])
                os.close(theirs[1])
