"""A hub on the loopback interface, and tiny models on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import constants

from tests.collect.model.checkpoint.local_hub import LocalHub, Repository, served


@pytest.fixture
def local_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """A hub that every request of this test goes to, and a cache of its own."""
    with served() as result:
        template = f"{result.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "ENDPOINT", result.address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("HF_TOKEN", "")
        # The client waits between its tries.
        monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _seconds: None)
        yield result
        huggingface_hub.close_session()


@pytest.fixture
def offer(local_hub: LocalHub, save_tiny: Callable[..., Path]) -> Callable[..., Path]:
    """Put a tiny model on the hub under ``acme/NAME``; return its directory there."""

    def put(name: str, family: str = "llama", **repository: Any) -> Path:
        directory = save_tiny(family, at=f"hub/{name}")
        local_hub.repositories[f"acme/{name}"] = Repository(directory, **repository)
        return directory

    return put
