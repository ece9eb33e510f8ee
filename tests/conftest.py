"""What several test rooms share: a store small enough to count by hand, and the shipped one."""

from __future__ import annotations

import math
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit.evidence.checks import Check
from analysis.delia2026.pages.register import CLAIMS
from analysis.store import Store, open_store
from collect.record.writer import write_table
from tests.exit_codes.watch import undeclared

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
#: What the embedding module returns, before positions are added.
LOOKED_UP = {"S:00": [0.6, 0.8], "S:01": [0.5]}


def pytest_configure() -> None:
    """Take an interruption as Python does: a shell's background job starts with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_undeclared_exit_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse an exit code, in whatever test, that the help of the verb does not list."""
    with undeclared(monkeypatch) as found:
        yield
    assert found == []


@pytest.fixture(scope="session")
def tiny_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one measured model of three blocks: two prompts, two heads that share one V."""
    directory = tmp_path_factory.mktemp("tiny")
    for table, stem, rows in (
        ("model", "test--tiny", _model()),
        ("prompt", "S", _prompts()),
        ("residual_norm", "test--tiny@S", _residual_norms()),
        ("residual_update", "test--tiny@S", _residual_updates()),
        ("next_token", "test--tiny@S", _next_tokens()),
        ("attention", "test--tiny@S", _attention()),
        ("attention_mean", "test--tiny@S", _attention_mean()),
        ("token_geometry", "test--tiny@S", _token_geometry()),
        ("prompt_geometry", "test--tiny@S", _prompt_geometry()),
        ("weight_norm", "test--tiny", _weight_norms()),
        ("matrix_norm", "test--tiny", _matrix_norms()),
        ("conformance", "test--tiny@S", _conformance()),
        ("not_measured", "test--tiny@S", _not_measured()),
        ("run", "test--tiny", _run(WEIGHTS, "weights")),
        ("run", "test--tiny@S", _run(RUN, "prompts")),
    ):
        write_table(table, rows, directory / table / f"{stem}.parquet")
    return directory


@pytest.fixture
def tiny_copy(tiny_directory: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny directory that a test may damage."""
    return Path(shutil.copytree(tiny_directory, tmp_path / "copy"))


@pytest.fixture
def one_block_copy(tiny_copy: Path) -> Path:
    """Return a copy of the tiny directory that also holds a model of one block."""
    norms = _residual_norms().query("layer == 0").assign(run_id="run-one")
    for table, stem, rows in (
        ("model", "test--one@S", _model().assign(n_layers=1)),
        ("residual_norm", "test--one@S", norms),
        ("next_token", "test--one@S", _next_tokens().assign(run_id="run-one")),
        ("run", "test--one@S", _run("run-one", "prompts")),
    ):
        write_table(table, rows.assign(model_id="test/one"), tiny_copy / table / f"{stem}.parquet")
    return tiny_copy


#: Adds a run to a directory that holds the tiny model, and gives the directory back.
AddRun = Callable[..., Path]


@pytest.fixture
def add_run(tiny_copy: Path) -> AddRun:
    """Return a function that measures the tiny model again, differently, in a copy."""

    def added(run_id: str, *, last_norm: float = 1.0, **settings: object) -> Path:
        kind = str(settings.pop("kind", "prompts"))
        of_unit = "test--tiny@S" if kind == "prompts" else "test--tiny"
        for path in tiny_copy.glob(f"*/{of_unit}.parquet"):
            if path.parent.name in ("model", "prompt", "run"):
                continue
            rows = pd.read_parquet(path).assign(run_id=run_id)
            if path.parent.name == "residual_norm":
                last = (rows["site"] == "block_output") & (rows["layer"] == 2)
                rows["norm"] = rows["norm"].where(~last, last_norm)
            if path.parent.name == "weight_norm":
                rows["frobenius"] *= 3
            write_table(path.parent.name, rows, path.with_stem(f"{of_unit}+{run_id}"))
        run_file = tiny_copy / "run" / f"{of_unit}+{run_id}.parquet"
        write_table("run", _run(run_id, kind, **settings), run_file)
        return tiny_copy

    return added


@pytest.fixture(scope="session")
def tiny_store(tiny_directory: Path) -> Store:
    """Return the tiny directory, opened."""
    return open_store(tiny_directory)


@pytest.fixture(scope="session")
def published_store() -> Store:
    """Return the published figures alone."""
    return open_store(ROOT / "data/published")


@pytest.fixture(scope="session")
def shipped_store() -> Iterator[Store]:
    """Return the store every command reads: published figures and sample measurements."""
    store = open_store(ROOT / "data/published", ROOT / "data/sample")
    yield store
    store.connection.close()


@pytest.fixture(scope="session")
def made(shipped_store: Store) -> dict[int, Sequence[Check]]:
    """Return the checks of every claim on the shipped store, made once for all tests."""
    return claims.examine(shipped_store, CLAIMS)


@pytest.fixture(scope="session")
def judged(shipped_store: Store, made: dict[int, Sequence[Check]]) -> pd.DataFrame:
    """Return the verdicts on the shipped store."""
    return claims.evaluate(shipped_store, CLAIMS, made=made)


def _model() -> pd.DataFrame:
    return pd.DataFrame(
        {
            **{"model_id": [MODEL], "lab": ["a lab"], "suite": ["a suite"], "family": ["gpt2"]},
            **{"n_layers": [3], "d_model": [4], "n_heads": [2], "n_kv_heads": [1], "d_head": [2]},
            "n_parameters": [1000],
        }
    )


def _prompts() -> pd.DataFrame:
    return pd.DataFrame(
        {"prompt_set": ["S", "S"], "prompt_id": list(NORMS), "text": ["two tokens", "one"]}
    )


def _of_run(rows: list[dict[str, object]], run_id: str = RUN) -> pd.DataFrame:
    return pd.DataFrame(rows).assign(run_id=run_id, model_id=MODEL)


def _residual_norms() -> pd.DataFrame:
    rows = []
    for prompt_id, depths in NORMS.items():
        sites = [("embedding", 0, LOOKED_UP[prompt_id]), ("final_norm", 2, FINAL_NORM[prompt_id])]
        sites += [
            ("block_input" if layer == -1 else "block_output", max(layer, 0), norms)
            for layer, norms in depths.items()
        ]
        rows += [
            {
                **{"prompt_id": prompt_id, "layer": layer, "site": site, "position": position},
                **{"is_special": False, "norm": norm, "norm_centred": norm / 2, "top_share": 0.5},
                "top_feature": 3,
            }
            for site, layer, norms in sites
            for position, norm in enumerate(norms)
        ]
    return _of_run(rows)


def _residual_updates() -> pd.DataFrame:
    """Attention adds 1/4 of the stream at position 0, 1/2 elsewhere; ffn as much as there is."""
    rows = []
    for prompt_id, depths in NORMS.items():
        for layer in range(3):
            for position, norm in enumerate(depths[layer - 1]):
                ratios = {"attention": 0.25 if position == 0 else 0.5, "ffn": 1.0}
                cosines = {"attention": -0.5 if position == 0 else 0.5, "ffn": 0.0}
                rows += [
                    {
                        **{"prompt_id": prompt_id, "layer": layer, "part": part},
                        **{"position": position, "norm": ratio * norm},
                        **{"norm_centred": ratio * norm, "ratio": ratio},
                        "cosine": cosines[part],
                        "input_norm": 2.0 if position == 0 else 4.0,
                    }
                    for part, ratio in ratios.items()
                ]
    return _of_run(rows)


def _next_tokens() -> pd.DataFrame:
    return pd.DataFrame(
        {
            **{"run_id": RUN, "model_id": MODEL},
            "prompt_id": list(NORMS),
            **{"n_tokens": [2, 1], "n_special": 0},
            "entropy": math.log(2),
            **{"top_token_id": 0, "top_token": "a", "top_probability": 0.5},
        }
    )


#: Second row of the attention map of S:00: head 0, head 1, mean of the heads.
#: The first row is [1, 0]; the map of S:01 is [[1]].
SECOND_ROW = {0: (0.25, 0.75), 1: (0.75, 0.25), None: (0.5, 0.5)}


def _map(head: int | None, prompt_id: str) -> dict[str, object]:
    """Return the statistics of one map."""
    if prompt_id == "S:01":
        shape = {"n_tokens": 1, "mass": 1.0, "diagonal": 1.0, "first_column": 1.0}
        return {**shape, "entropy": 0.0, "sum_squares": 1.0, "distance": 0.0}
    first, own = SECOND_ROW[head]
    return {
        **{"n_tokens": 2, "mass": 2.0, "diagonal": 1.0 + own, "first_column": 1.0 + first},
        "entropy": -first * math.log(first) - own * math.log(own),
        **{"sum_squares": 1.0 + first**2 + own**2, "distance": first},
    }


def _attention() -> pd.DataFrame:
    return _of_run(
        [
            {"prompt_id": prompt_id, "layer": layer, "head": head, "above_diagonal": 0.0}
            | _map(head, prompt_id)
            for prompt_id in NORMS
            for layer in range(3)
            for head in (0, 1)
        ]
    )


def _attention_mean() -> pd.DataFrame:
    return _of_run(
        [
            {"prompt_id": prompt_id, "layer": layer, "n_small": 1 if prompt_id == "S:00" else 0}
            | _map(None, prompt_id)
            for prompt_id in NORMS
            for layer in range(3)
        ]
    )


def _token_geometry() -> pd.DataFrame:
    return _of_run(
        [
            {
                "prompt_id": prompt_id,
                "layer": layer,
                "site": "block_output",
                "n_tokens": n_tokens,
                "mean_cosine": 0.25 * layer if n_tokens > 1 else None,
                "mean_cosine_body": 0.125 * layer if n_tokens > 1 else None,
                "uniformity": -1.0 if n_tokens > 1 else None,
                "effective_rank": 1.5 if n_tokens > 1 else 1.0,
                "embedding_correlation": 0.5,
            }
            for prompt_id, n_tokens in (("S:00", 2), ("S:01", 1))
            for layer in range(3)
        ]
    )


def _prompt_geometry() -> pd.DataFrame:
    return _of_run(
        [
            {"layer": layer, "site": "block_output", "n_prompts": 2, "mean_cosine": -0.5}
            | {"uniformity": -4.0, "effective_rank": 2.0}
            for layer in range(3)
        ]
    )


#: sigma_max and Frobenius norm at layer 0, per matrix, variant and head; layer l has l + 1 times.
WEIGHTS_OF_HEADS = {
    ("V", False, "correct"): [(8.0, 10.0), (8.0, 10.0)],
    ("V", True, "correct"): [(16.0, 20.0), (16.0, 20.0)],
    ("V", False, "contiguous"): [(1.0, 1.0), (2.0, 3.0)],
    ("O", False, "correct"): [(6.0, 6.0), (4.0, 5.0)],
    ("OV", True, "correct"): [(10.0, 10.0), (4.0, 5.0)],
}


def _weight_norms() -> pd.DataFrame:
    return _of_run(
        [
            {"layer": layer, "head": head, "kv_head": 0, "matrix": matrix}
            | {"is_folded": is_folded, "slicing": slicing}
            | {"sigma_max": sigma * (layer + 1), "frobenius": frobenius * (layer + 1)}
            for layer in range(3)
            for (matrix, is_folded, slicing), heads in WEIGHTS_OF_HEADS.items()
            for head, (sigma, frobenius) in enumerate(heads)
        ],
        WEIGHTS,
    )


def _matrix_norms() -> pd.DataFrame:
    whole = {"correct": (8.0, 10.0), "contiguous": (3.0, 4.0)}
    return _of_run(
        [
            {"layer": layer, "matrix": "V", "slicing": slicing}
            | {"sigma_max": sigma * (layer + 1), "frobenius": frobenius * (layer + 1)}
            for layer in range(3)
            for slicing, (sigma, frobenius) in whole.items()
        ],
        WEIGHTS,
    )


def _conformance() -> pd.DataFrame:
    return _of_run(
        [
            {"property": "attention_rows", "layer": 1, "deviation": 1e-7, "tolerance": 1e-5}
            | {"is_met": True, "reason": None},
            {"property": "finite", "layer": None, "deviation": 0.0, "tolerance": 0.0}
            | {"is_met": True, "reason": None},
        ]
    )


def _not_measured() -> pd.DataFrame:
    what = {"measured_table": "residual_norm", "quantity": "site block_mid"}
    return _of_run([{**what, "reason": "attention and feed-forward read the same stream"}])


def _run(run_id: str, kind: str, **settings: object) -> pd.DataFrame:
    """Return the one row of table run of a unit; ``settings`` replace columns."""
    of_prompts: dict[str, object] = {
        **{"prompt_set": "S", "rendering": "plain", "special_tokens": "default"},
        **{"quantities": "stream,attention,geometry", "execution": "loaded"},
    }
    row: dict[str, object] = {
        **{"run_id": run_id, "model_id": MODEL, "kind": kind, "weights_sha256": "0"},
        **{"config_sha256": "0", "adapter": "gpt2", "dtype_weights": "float32"},
        **{"dtype_compute": "float32", "device": "cpu", "attention_implementation": "eager"},
        **{"execution": "shards", "quantities": "weights", "is_conforming": True},
        **{"schema_version": 2, "code_version": "test", "python_version": "3"},
        **{"torch_version": "2", "transformers_version": "5"},
        "started_at": datetime(2026, 1, 1),
        "duration_s": 0.0,
    }
    row |= of_prompts if kind == "prompts" else {}
    return pd.DataFrame([row | settings])
