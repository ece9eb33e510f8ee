"""A hub on the loopback interface, and commands that are run against it, with all that is asked.

What a person types runs in a process of its own; its words and the requests that reach the hub
are printed. Paths of this machine are replaced by names.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers

from tests.collect.conftest import tiny_model, tiny_tokenizer
from tests.collect.model.checkpoint.local_hub import LocalHub, Repository

ROOT = Path(__file__).parents[2]

#: Lines of what a command says, and of its requests, that are shown; and letters of a line.
N_SAID, N_REQUESTS, N_LETTERS = 4, 24, 320

#: Variables that would change what a command asks the hub.
_CLEARED = ("HF_", "HUGGING", "TRANSFORMERS_OFFLINE", "http_proxy", "https_proxy", "all_proxy")


class Stage:
    """One line of the proof: a cache, a working directory and an output of its own.

    Parameters
    ----------
    hub
        What commands ask; its repositories, faults and log are emptied.
    folder
        Where everything lies.
    """

    def __init__(self, hub: LocalHub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.home, self.work, self.offered = (folder / name for name in ("home", "work", "hub"))
        self.work.mkdir(parents=True)
        (self.work / "own.txt").write_text("# Factual\nThe sky is\nTwo and two\n")
        self.failures: list[str] = []
        self.said = ""
        hub.repositories.clear()
        hub.log.clear()
        hub.answers.clear()
        hub.listed_sha256.clear()
        hub.listed_size.clear()
        hub.go_on.clear()
        hub.fault = lambda _method, _path: None

    def offer(self, name: str, *, seed: int = 0, at: str = "", **about: Any) -> Path:
        """Put a tiny model on the hub; return its directory."""
        directory = self.save(self.offered / (at or name.replace("/", "--")), seed=seed)
        if not at:
            self.hub.repositories[name] = Repository(directory, **about)
        return directory

    def save(self, directory: Path, *, seed: int = 0) -> Path:
        """Save a tiny model; return its directory."""
        tiny_model("llama", seed=seed).save_pretrained(directory)
        tiny_tokenizer().save_pretrained(directory)
        return directory

    def large(self, name: str) -> Path:
        """Put a model of 41 MB on the hub: the client keeps what arrives in parts of 10 MB."""
        shape = {"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 3}
        config = transformers.LlamaConfig(
            **shape, vocab_size=257, num_attention_heads=4, bos_token_id=256, eos_token_id=256
        )
        directory = self.offered / name.replace("/", "--")
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(directory)
        tiny_tokenizer().save_pretrained(directory)
        self.hub.repositories[name] = Repository(directory)
        return directory

    def collect(
        self,
        *words: str,
        code: int,
        says: str = "",
        until: Callable[[], bool] | None = None,
        n_said: int = N_SAID,
        limit: int | None = None,
        on_terminal: bool = False,
        **env: str,
    ) -> str:
        """Run a command, show what it says and asks, and note where that is not as it must be.

        Parameters
        ----------
        *words
            After ``python -m collect``.
        code
            Exit code that there must be.
        says
            What its words must match.
        until
            When this is so the keyboard interrupts.
        n_said
            Lines that are shown at most.
        limit
            Size that no file may exceed, as on a disk that is full [KiB].
        on_terminal
            Whether the words go to a terminal, where bars are drawn.
        **env
            Variables beside the hub's address and the cache's place.
        """
        n_before = len(self.hub.log)
        shown = "".join(f"{name}={value} " for name, value in env.items())
        limited = [] if limit is None else ["bash", "-c", f'ulimit -f {limit}; exec "$@"', "-"]
        shown += "" if limit is None else f"ulimit -f {limit}; "
        print(f"\n$ {self._named(shown)}python -m collect {self._named(' '.join(words))}")
        reader, writer = _terminal() if on_terminal else os.pipe()
        process = subprocess.Popen(
            [*limited, sys.executable, "-m", "collect", *words],
            cwd=self.work,
            env=self._environment(env),
            stdout=writer,
            stderr=writer,
        )
        os.close(writer)
        if until is not None:
            self._interrupt(process, reader, until)
        self.said = _read_all(reader)
        process.wait(timeout=300)
        named = self._named(self.said)
        _print_shortened(named.splitlines(), n_said, says)
        print(f"exit code {process.returncode}")
        self._print_requests(n_before)
        self.must(process.returncode == code, f"the exit code must be {code}")
        self.must(re.search(says, named) is not None, f"it must say: {says}")
        self.must("Traceback" not in self.said, "no traceback may be shown")
        return self.said

    def must(self, is_so: bool, what: str) -> None:
        """Note and print what is not as it must be."""
        if not is_so:
            self.failures.append(what)
            print(f"NOT AS IT MUST BE: {what}")

    def fetched(self, ending: str) -> list[str]:
        """Return what was asked for beyond the header of a file of weights."""
        return self.hub.fetched(ending)

    def _environment(self, env: dict[str, str]) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_CLEARED) and name.lower() not in _CLEARED
        }
        own = {"HF_ENDPOINT": self.hub.address, "HF_HOME": str(self.home), "HF_TOKEN": ""}
        return {**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **own, **env}

    def _interrupt(
        self, process: subprocess.Popen[bytes], reader: int, until: Callable[[], bool]
    ) -> None:
        """Interrupt a command that has said nothing yet, and time its answer and its end."""
        while not until() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        select.select([reader], [], [], 60)
        heard = time.monotonic() - start
        process.wait(timeout=60)
        took = time.monotonic() - start
        print(f"(Ctrl-C; answered after {heard:.1f} s, ended after {took:.0f} s)")
        self.must(heard < 0.5, "it must be heard at once")
        self.must(took < 5, "the process must end")

    def _named(self, text: str) -> str:
        """Return a text with names in place of this machine's paths and addresses."""
        for path, name in (
            (f"/cdn{self.offered}", "/cdn"),
            (self.work, "WORK"),
            (self.home, "HF_HOME"),
            (self.offered, "HUB"),
            (self.folder, "ROOM"),
            (ROOT, "CODE"),
        ):
            text = text.replace(str(path), name)
        text = re.sub(r"\b([0-9a-f]{8})(?:[0-9a-f]{32}|[0-9a-f]{56})\b", r"\1", text)
        # A bar begins with the end of an address.
        text = re.sub(r"\(…\)[^\s:]*/", "(…)/", text)
        for address, name in ((self.hub.address, "hub"), (self.hub.elsewhere, "elsewhere")):
            text = text.replace(address.partition("//")[2], f"{name}.example")
        return text

    def _print_requests(self, n_before: int) -> None:
        requests = list(zip(self.hub.log, self.hub.answers, strict=True))[n_before:]
        if not requests:
            print("requests: none")
            return
        print("requests: method, path, range, token, status, bytes")
        rows = []
        for (method, path, part, has_token), (status, n) in requests:
            what = (method, self._named(path), part or "-", "token" if has_token else "-")
            rows.append("  " + "  ".join((*what, str(status or "cut"), str(n))))
        _print_shortened(rows, N_REQUESTS)


def _terminal() -> tuple[int, int]:
    """Return the two ends of a terminal of 24 lines and 100 columns."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    return reader, writer


def _read_all(reader: int) -> str:
    """Return what comes out of a pipe or a terminal until its other end is closed."""
    said = b""
    # A terminal says by an error that nobody is left to write to it.
    with contextlib.suppress(OSError):
        while part := os.read(reader, 1 << 16):
            said += part
    os.close(reader)
    return said.decode()


def _print_shortened(lines: list[str], n: int, says: str = "") -> None:
    """Print the first lines, and of the others those that hold what must be said."""
    lines = [line for line in lines if line.strip()]
    must = [bool(says) and re.search(says, line) is not None for line in lines]
    kept = [line for place, line in enumerate(lines) if place < n or must[place]]
    for line in kept:
        print(line if len(line) <= N_LETTERS else f"{line[:N_LETTERS]} ...")
    if len(lines) > len(kept):
        print(f"  ... {len(lines) - len(kept)} more lines")


def edit_json(path: Path, **entries: object) -> None:
    """Change entries of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def copy(source: Path, target: Path) -> Path:
    """Copy a file; return the copy."""
    return Path(shutil.copy(source, target))
