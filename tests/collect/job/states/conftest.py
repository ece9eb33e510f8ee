"""The model whose states other engines are taken to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.conftest import tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny llama without a tokenizer."""
    directory = tmp_path_factory.mktemp("engines") / "tiny"
    tiny_model("llama").save_pretrained(directory)
    return directory
