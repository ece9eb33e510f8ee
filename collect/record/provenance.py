"""What ran: versions of this code, of Python and of the libraries, and the name of the device."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import torch
import transformers

from collect.errors import ScarcityError, scarcity
from collect.process import shipped

#: Longest time that git may take [s]; a status reads every file, on a busy machine for long.
_GIT_S = 120

#: How the version ends of code that holds changes which are not committed.
DIRTY = ".dirty"

_of_driver: str | None = None


def code_version() -> str:
    """Return the version of thermoscope, with ``+g<commit>`` when it runs from a git clone.

    ``.dirty`` is appended when the clone holds changes that are not committed.
    """
    return _installed_version() if _of_driver is None else _of_driver


def take_version_of_driver(version: str | None) -> None:
    """Let rows bear the version of the process that began a command, so that all bear one.

    Parameters
    ----------
    version
        Its `code_version`; None to ask in this process again.
    """
    global _of_driver  # noqa: PLW0603
    _of_driver = version


@cache
def _installed_version() -> str:
    try:
        release = version("thermoscope")
    except PackageNotFoundError:
        release = "0.unreleased"
    commit = _git("rev-parse", "--short=12", "HEAD") if (shipped.BESIDE / ".git").exists() else ""
    if not commit:
        return release
    dirty = DIRTY if _git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{release}+g{commit}{dirty}"


def _git(*arguments: str) -> str:
    try:
        answer = subprocess.run(  # noqa: S603
            ["git", "-C", str(shipped.BESIDE), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
            timeout=_GIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise ScarcityError(f"processor time for git within {_GIT_S} s") from error
    except (OSError, subprocess.SubprocessError) as error:
        if (lack := scarcity(error)) is not None:
            raise lack from error
        return ""
    return answer.stdout.strip()


def versions() -> dict[str, str]:
    """Return the version columns of table ``run``."""
    return {
        "code_version": code_version(),
        "python_version": platform.python_version(),
        "torch_version": str(torch.__version__),
        "transformers_version": str(transformers.__version__),
    }


def device_name(device: str) -> str:
    """Return the device as table ``run`` names it: cpu, or the accelerator's product name.

    ``auto`` is every accelerator there is, or cpu where there is none.
    """
    if device == "auto":
        names = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
        return f"cuda: {' + '.join(names)}" if names else "cpu"
    kind = torch.device(device).type
    return f"{kind}: {torch.cuda.get_device_name(device)}" if kind == "cuda" else kind
