"""The version that rows carry: its commit is never lost in silence."""

from __future__ import annotations

import errno
import os
import subprocess
from typing import Any, NoReturn

import pytest

from collect.errors import ScarcityError
from collect.record import provenance


def test_a_machine_without_files_to_lend_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(*given: Any, **how: Any) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(subprocess, "run", lacks)
    with pytest.raises(ScarcityError, match="of open files"):
        provenance._git("rev-parse", "HEAD")


def test_a_machine_without_git_names_the_release_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*given: Any, **how: Any) -> NoReturn:
        raise FileNotFoundError(errno.ENOENT, "git")

    monkeypatch.setattr(subprocess, "run", absent)
    assert provenance._git("rev-parse", "HEAD") == ""
