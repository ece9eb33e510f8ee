"""A request to end, wherever the engine is at work, ends a public function as KeyboardInterrupt."""

import warnings
from contextlib import contextmanager

import duckdb
import pytest
import transformers

import collect
from collect.record.compaction import compact
from collect.record.integrity import faults
from collect.record.publication.database import write_database
from collect.record.status import units
from collect.schema import empty
from tests.collect.conftest import tiny_model

TOKENS = [{"prompt_id": "p", "token_ids": [5, 6, 7]}]


class Interrupted:
    """A connection of DuckDB whose call of one number is interrupted, as the engine tells it."""

    n_calls, at, error = 0, 0, None

    def __init__(self, connection):
        self._connection = connection

    def __enter__(self):
        self._connection.__enter__()
        return self

    def __exit__(self, *error):
        return self._connection.__exit__(*error)

    def __getattr__(self, name):
        attribute = getattr(self._connection, name)
        if name == "cursor":
            return lambda: Interrupted(attribute())
        if name not in ("execute", "sql", "register"):
            return attribute

        def counted(*given, **more):
            Interrupted.n_calls += 1
            if Interrupted.n_calls == Interrupted.at:
                raise Interrupted.error()
            return attribute(*given, **more)

        return counted


@contextmanager
def interrupted(at, error):
    Interrupted.n_calls, Interrupted.at, Interrupted.error = 0, at, error
    yield


@pytest.fixture
def engine(monkeypatch):
    connection = duckdb.connect()
    monkeypatch.setattr(empty, "_engine", lambda _process: Interrupted(connection))


def within():
    return RuntimeError("Query interrupted")


def reading():
    return duckdb.InvalidInputException(
        "Invalid Input Error: reading the schema of the object registered as 'rows' failed: "
        "KeyboardInterrupt: "
    )


@pytest.mark.parametrize("error", [within, reading])
def test_every_call_of_the_engine_in_a_step_may_be_interrupted(engine, tmp_path, error):
    model, how = tiny_model("gpt2"), {"model_id": "own/model", "step": 0}
    with interrupted(0, error):
        collect.measure_step(model, None, TOKENS, tmp_path / "whole", **how)
    n_calls = Interrupted.n_calls
    assert n_calls > 30
    for at in range(1, n_calls + 1, 7):
        out = tmp_path / f"out{at}"
        with interrupted(at, error), pytest.raises(KeyboardInterrupt):
            collect.measure_step(model, None, TOKENS, out, **how)
        assert [path for path in out.rglob("*.parquet") if path.parent.name == "run"] == []
    with interrupted(3, error), pytest.raises(KeyboardInterrupt):
        collect.measure(model, None, TOKENS)


@pytest.mark.parametrize(
    "use",
    [
        compact,
        lambda out, new: write_database([out], new),
        lambda out, new: units(out),
        lambda out, new: list(faults(out)),
    ],
    ids=["compact", "database", "status", "check"],
)
def test_what_reads_a_store_may_be_interrupted(use, gpt2_output, tmp_path, monkeypatch):
    def interrupt(*_given, **_more):
        raise within()

    for place in (
        "collect.record.compaction.assemble",
        "collect.record.publication.database.assemble",
        "collect.record.status.read_run_file",
        "collect.record.integrity.read_mark",
    ):
        monkeypatch.setattr(place, interrupt)
    with pytest.raises(KeyboardInterrupt):
        use(gpt2_output, tmp_path / "new")


def test_a_training_that_is_followed_ends_at_a_request(monkeypatch, tmp_path):
    following = collect.MeasurementCallback(tmp_path, TOKENS, every=1, model_id="own/model")
    arguments = transformers.TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True)
    state = transformers.TrainerState(global_step=1)

    def interrupt(*_given, **_more):
        raise within()

    monkeypatch.setattr("collect.record.commit.write_table", interrupt)
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        following._try(arguments, state, {"model": tiny_model("gpt2")})
