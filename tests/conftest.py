"""What several test rooms share: a store small enough to count by hand, and the shipped one."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest

from analysis import claims
from analysis.store import Store, open_store
from collect.writer import write_table

ROOT = Path(__file__).parents[1]
RUN, WEIGHTS = "run-prompts", "run-weights"
MODEL = "test/tiny"

#: Norm of the stream per prompt, depth (-1 is the input of block 0) and token position.
#: Every later test of a view recomputes its expectation from these numbers by hand.
NORMS = {
    "S:00": {-1: [1.0, 2.0], 0: [4.0, 4.0], 1: [8.0, 6.0], 2: [8.0, 3.0]},
    "S:01": {-1: [1.0], 0: [2.0], 1: [1.0], 2: [4.0]},
}
FINAL_NORM = {"S:00": [5.0, 9.0], "S:01": [7.0]}


@pytest.fixture(scope="session")
def tiny_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with one measured model of three blocks, two prompts, one head."""
    directory = tmp_path_factory.mktemp("tiny")
    for table, stem, rows in (
        ("model", "test--tiny", _model()),
        ("prompt", "S", _prompts()),
        ("residual_norm", "test--tiny@S", _residual_norms()),
        ("next_token", "test--tiny@S", _next_tokens()),
        ("attention", "test--tiny@S", _attention()),
        ("weight_norm", "test--tiny", _weight_norms()),
        ("run", "test--tiny", _run(WEIGHTS, "weights", None)),
        ("run", "test--tiny@S", _run(RUN, "prompts", "S")),
    ):
        write_table(table, rows, directory / table / f"{stem}.parquet")
    return directory


@pytest.fixture
def tiny_copy(tiny_directory: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny directory that a test may damage."""
    return Path(shutil.copytree(tiny_directory, tmp_path / "copy"))


@pytest.fixture(scope="session")
def tiny_store(tiny_directory: Path) -> Store:
    """Return the tiny directory, opened."""
    return open_store(tiny_directory)


@pytest.fixture(scope="session")
def shipped_store() -> Iterator[Store]:
    """Return the store every command reads: published figures and sample measurements."""
    store = open_store(ROOT / "data/published", ROOT / "data/sample")
    yield store
    store.connection.close()


@pytest.fixture(scope="session")
def judged(shipped_store: Store) -> pd.DataFrame:
    """Return the verdicts on the shipped store, computed once for all tests that read them."""
    return claims.evaluate(shipped_store)


def _model() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model_id": [MODEL],
            "lab": ["a lab"],
            "suite": ["a suite"],
            "family": ["gpt2"],
            "n_layers": [3],
            "d_model": [4],
            "n_heads": [1],
            "n_kv_heads": [1],
            "d_head": [4],
            "n_parameters": [1000],
        }
    )


def _prompts() -> pd.DataFrame:
    return pd.DataFrame(
        {"prompt_set": ["S", "S"], "prompt_id": list(NORMS), "text": ["two tokens", "one"]}
    )


def _residual_norms() -> pd.DataFrame:
    rows = []
    for prompt_id, depths in NORMS.items():
        for layer, norms in depths.items():
            site = "block_input" if layer == -1 else "block_output"
            rows += [
                _norm(prompt_id, max(layer, 0), site, place, norm)
                for place, norm in enumerate(norms)
            ]
        rows += [
            _norm(prompt_id, 2, "final_norm", place, norm)
            for place, norm in enumerate(FINAL_NORM[prompt_id])
        ]
    return pd.DataFrame(rows)


def _norm(prompt_id: str, layer: int, site: str, position: int, norm: float) -> dict[str, object]:
    return {
        "run_id": RUN,
        "model_id": MODEL,
        "prompt_id": prompt_id,
        "layer": layer,
        "site": site,
        "position": position,
        "is_special": False,
        "norm": norm,
        "norm_centred": norm / 2,
    }


def _next_tokens() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run_id": RUN,
            "model_id": MODEL,
            "prompt_id": list(NORMS),
            "n_tokens": [2, 1],
            "n_special": 0,
            "entropy": math.log(2),
            "top_token_id": 0,
            "top_token": "a",
            "top_probability": 0.5,
        }
    )


def _attention() -> pd.DataFrame:
    """One head; prompt S:00 attends [[1, 0], [0.25, 0.75]], prompt S:01 [[1]]."""
    shared = {"run_id": RUN, "model_id": MODEL, "head": 0, "above_diagonal": 0.0, "entropy": 0.5}
    rows = []
    for layer in range(3):
        rows.append(
            shared
            | {"prompt_id": "S:00", "layer": layer, "n_tokens": 2, "mass": 2.0, "diagonal": 1.75}
            | {"first_column": 1.25, "sum_squares": 1.625}
        )
        rows.append(
            shared
            | {"prompt_id": "S:01", "layer": layer, "n_tokens": 1, "mass": 1.0, "diagonal": 1.0}
            | {"first_column": 1.0, "sum_squares": 1.0}
        )
    return pd.DataFrame(rows)


def _weight_norms() -> pd.DataFrame:
    rows = [
        {"layer": layer, "matrix": matrix, "frobenius": 10.0 * (layer + 1), "sigma_max": 1.0}
        for layer in range(3)
        for matrix in ("V", "O")
    ]
    return pd.DataFrame(rows).assign(run_id=WEIGHTS, model_id=MODEL, head=0, kv_head=0)


def _run(run_id: str, kind: str, prompt_set: str | None) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run_id": [run_id],
            "model_id": [MODEL],
            "kind": [kind],
            "prompt_set": pd.array([prompt_set], dtype="str"),
            "weights_sha256": ["0"],
            "adapter": ["gpt2"],
            "dtype_weights": ["float32"],
            "dtype_compute": ["float32"],
            "device": ["cpu"],
            "attention_implementation": ["eager"],
            "schema_version": [1],
            "code_version": ["test"],
            "python_version": ["3"],
            "torch_version": ["2"],
            "transformers_version": ["5"],
            "started_at": [datetime(2026, 1, 1)],
            "duration_s": [0.0],
        }
    )
