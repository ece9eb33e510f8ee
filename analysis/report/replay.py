"""Outputs of a report's code, kept between renderings: a change of words runs nothing again.

A chunk may depend on every chunk before it, so its outputs are kept under a hash of all code up
to it, and the value of inline code under that of all chunks before it. Where anything is asked
that was not asked before, everything is run.
"""

from __future__ import annotations

import copy
import hashlib
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from analysis.report import kept
from analysis.report.making import pandoc
from analysis.report.reading import places
from analysis.report.reading.inline import Inline
from analysis.tidy.errors import ReportError


class Runner(Protocol):
    """What runs code: a kernel, or what remembers one."""

    def run(self, code: str, *, name: str) -> list[dict[str, Any]]:
        """Return the outputs of a chunk, as `execution.Kernel.run`."""

    def evaluate(self, asked: Sequence[Inline]) -> list[dict[str, Any]]:
        """Return the representations of values, as `execution.Kernel.evaluate`."""


class NewCodeError(Exception):
    """Something is asked that was not asked before."""


class Replay:
    """Answers from what is known; asks a kernel, if there is one, and remembers its answers.

    Parameters
    ----------
    known
        Answers by what was asked; with a kernel it is added to.
    kernel
        What runs the code; without it, what is not known raises `NewCodeError`.
    """

    def __init__(self, known: dict[str, Any], kernel: Runner | None = None) -> None:
        self._known = known
        self._kernel = kernel
        self._past = hashlib.sha256().hexdigest()

    def run(self, code: str, *, name: str) -> list[dict[str, Any]]:
        """Return the outputs of a chunk."""
        self._past = _digest("chunk", self._past, code)
        if self._kernel is not None:
            self._known[self._past] = copy.deepcopy(self._kernel.run(code, name=name))
        outputs: list[dict[str, Any]] = self._recalled(self._past)
        return outputs

    def evaluate(self, asked: Sequence[Inline]) -> list[dict[str, Any]]:
        """Return the representations of the values of expressions by MIME type."""
        digests = [_digest("value", self._past, inline.expression) for inline in asked]
        if self._kernel is not None:
            answers = copy.deepcopy(self._kernel.evaluate(asked))
            self._known.update(zip(digests, answers, strict=True))
        return [self._recalled(digest) for digest in digests]

    def _recalled(self, digest: str) -> Any:
        if digest not in self._known:
            raise NewCodeError
        return copy.deepcopy(self._known[digest])


@dataclass(frozen=True, slots=True)
class Memory:
    """Where the outputs of one state of data, code and packages are kept.

    Attributes
    ----------
    results
        Kept results; their key says what state it is.
    """

    results: kept.Results

    def known(self) -> dict[str, Any]:
        """Return the answers that are kept; none where none can be read back whole."""
        with suppress(OSError, ValueError):
            answers: dict[str, Any] = kept.read_whole(self._path())
            return answers
        return {}

    def keep(self, known: Mapping[str, Any]) -> None:
        """Keep answers for the next rendering; one that cannot be kept is as good."""
        with suppress(OSError, ReportError):
            kept.write_whole(self._path(), dict(known))
            kept.forget_older(self._path(), "outputs")

    def finished(self, project: Path) -> Finished:
        """Return the pages that the files of a project give, as they and pandoc are now."""
        key = kept.extended(self.results.key + pandoc.state().encode(), [project])
        return Finished(self.results.directory / f"pages-{key.hex()[:32]}{kept.SUFFIX}")

    def _path(self) -> Path:
        name = f"outputs-{self.results.key.hex()[:32]}{kept.SUFFIX}"
        return self.results.directory / name


@dataclass(frozen=True, slots=True)
class Finished:
    """All pages of one state of a project, kept together after they were examined together."""

    path: Path

    def pages(self) -> dict[str, str]:
        """Return the pages by stem; none if none can be read back whole."""
        with suppress(OSError, ValueError):
            packed: dict[str, bytes] = kept.read_whole(self.path)
            return {stem: zlib.decompress(page).decode() for stem, page in packed.items()}
        return {}

    def keep(self, pages: Mapping[str, str]) -> None:
        """Keep the pages for a rendering in which nothing changed."""
        packed = {stem: zlib.compress(page.encode(), level=1) for stem, page in pages.items()}
        with suppress(OSError, ReportError):
            kept.write_whole(self.path, packed)
            kept.forget_older(self.path, "pages")


def memory_of(
    root: Path, parameters: Mapping[str, str], directory: Path = kept.DIRECTORY
) -> Memory:
    """Return the memory of the project's own report, by all that its chunks can read.

    That is everything under ``data`` and ``examples``, what the parameters name, the code, the
    packages, what the pages refer to in each other, and the commit with its mark for changed files,
    which they tell.
    """
    named = [Path(value) for _, value in sorted(parameters.items()) if Path(value).exists()]
    named += [root / "examples"] if (root / "examples").is_dir() else []
    told = (repr(sorted(parameters.items())), _commit(root), _references(root / "quarto"))
    return Memory(kept.results_for([root / "data", *named], told, directory))


def _commit(root: Path) -> str:
    asked = (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    answers = [
        subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False).stdout
        for words in asked
    ]
    return repr((answers[0], bool(answers[1])))


def _references(project: Path) -> str:
    if not (project / "_quarto.yml").is_file():
        return ""
    return repr((places.places(project), places.titles(project)))


def _digest(*words: str) -> str:
    return hashlib.sha256(repr(words).encode()).hexdigest()
