"""A model measured in several ways is never averaged over them, nor joined to other weights."""

import json

import pandas as pd
import pytest

from analysis.delia2026.measured import metrics as measured
from analysis.delia2026.weights import claims_trace as trace
from analysis.store import open_store
from collect import schema
from collect.record.writer import write_table


def primary(store, kind="prompts"):
    return store.query("FROM primary_run WHERE kind = $kind", kind=kind)["run_id"].tolist()


def write_revisions(directory, steps):
    """Write the training steps that names of revisions give to weights, by their hash."""
    revisions = pd.DataFrame(
        {"model_id": "test/tiny", "weights_sha256": weights, "config_sha256": "0"}
        | {"revision_name": f"{weights}-{place}", "revision": "abc", "training_step": step}
        for weights, of_weights in steps.items()
        for place, step in enumerate(of_weights)
    )
    if steps:
        write_table("revision", revisions, directory / "revision" / "test--tiny.parquet")


@pytest.mark.parametrize(
    "settings",
    [
        {"rendering": "chat"},
        {"special_tokens": "always"},
        {"special_tokens": "never"},
        {"is_conforming": False},
        {"dtype_compute": "bfloat16"},
    ],
)
def test_summaries_use_the_conforming_plain_run_of_the_widest_format(add_run, settings):
    # "a" comes before "run-prompts": the name does not decide.
    store = open_store(add_run("a", last_norm=1000.0, **settings))
    assert primary(store) == ["run-prompts"]
    models = measured.models(store)
    # The last token of S:00 has norms 6 and 3 around the last block, that of S:01 has 1 and 4.
    assert models["gain_last_block"].tolist() == [(3 / 6 + 4 / 1) / 2]


#: Other weights of the same model: a step of its training, named by its revision.
LATER = {"weights_sha256": "1", "revision": "b" * 40, "revision_name": "step2000"}


@pytest.mark.parametrize(
    ("settings", "steps", "expected"),
    [
        # "run-prompts" is of float32 on a processor; "a" comes before it by name, "z" after it.
        ({"run_id": "z", "dtype_compute": "float64"}, {}, "z"),
        ({"run_id": "a", "dtype_compute": "float16"}, {}, "run-prompts"),
        (
            {"run_id": "z", "dtype_compute": "float64"} | {"quantities": "predictions"},
            {},
            "run-prompts",
        ),
        ({"run_id": "a", "device": "cuda:0"}, {}, "run-prompts"),
        ({"run_id": "a"} | LATER, {"1": [2000]}, "run-prompts"),
        ({"run_id": "z"} | LATER, {"0": [1000], "1": [2000]}, "z"),
        ({"run_id": "z"} | LATER, {"0": [2000], "1": [1000, None]}, "z"),
        ({"run_id": "a", "dtype_compute": "float64"} | LATER, {"1": [2000]}, "run-prompts"),
    ],
)
def test_the_release_counts_or_the_last_step_then_the_stream_then_the_format_then_the_processor(
    add_run, settings, steps, expected
):
    directory = add_run(**settings)
    write_revisions(directory, steps)
    assert primary(open_store(directory)) == [expected]


def test_steps_are_counted_once_and_are_the_models_without_a_named_revision(tiny_copy):
    path = tiny_copy / "model" / "test--tiny.parquet"
    write_table("model", pd.read_parquet(path).assign(training_step=5, training_tokens=70), path)
    row = open_store(tiny_copy).query("FROM run_revision WHERE kind = 'prompts'").iloc[0]
    assert row[["training_step", "training_tokens"]].tolist() == [5, 70]
    write_revisions(tiny_copy, {"0": [1000, 1000]})
    rows = open_store(tiny_copy).query("FROM run_revision WHERE kind = 'prompts'")
    assert rows["training_step"].tolist() == [1000, 1000]
    assert rows["n_steps"].tolist() == [1, 1]


def test_a_model_measured_in_chat_only_enters_no_summary(add_run):
    directory = add_run("chat", rendering="chat")
    (directory / "run" / "test--tiny@S.parquet").unlink()
    store = open_store(directory)
    assert primary(store) == []
    assert measured.models(store).empty


def test_every_run_has_its_own_gains_and_says_how_it_was_made(add_run):
    add_run("chat", rendering="chat", last_norm=1000.0)
    store = open_store(add_run("wrong", is_conforming=False, last_norm=1.0))
    gains = store.query(
        "SELECT file, rendering, is_conforming, gain_mean, n_prompts FROM gain_by_model "
        "WHERE metric = 'gain_last_block' ORDER BY file"
    ).set_index("file")
    assert gains["n_prompts"].tolist() == [2, 2, 2]
    assert gains.index.tolist() == ["chat", "run-prompts", "wrong"]
    assert gains["rendering"].tolist() == ["chat", "plain", "plain"]
    assert gains["is_conforming"].tolist() == [True, True, False]
    expected = [(1000 / 6 + 1000 / 1) / 2, (3 / 6 + 4 / 1) / 2, (1 / 6 + 1 / 1) / 2]
    assert gains["gain_mean"].tolist() == pytest.approx(expected)


def test_runs_that_differ_in_tokens_or_revision_are_told_apart_where_gains_are_read(add_run):
    add_run("always", special_tokens="always", last_norm=1000.0)
    add_run("early", revision_name="step10", revision="abc", last_norm=10.0)
    store = open_store(add_run("device", device="cuda:0", last_norm=2.0))
    gains = store.query("FROM gain_by_model WHERE metric = 'gain_last_block'")
    assert gains["n_prompts"].tolist() == [2] * 4
    told = ["special_tokens", "revision_name", "revision", "device"]
    assert not gains.duplicated(["prompt_set", "dtype", "rendering", "is_conforming", *told]).any()
    by_run = gains.set_index("run_id")[told].astype(object).where(lambda rows: rows.notna(), None)
    assert by_run.loc["always"].tolist() == ["always", None, None, "cpu"]
    assert by_run.loc["early"].tolist() == ["default", "step10", "abc", "cpu"]
    one = store.query(
        "SELECT gain_mean FROM gain_by_model JOIN primary_run USING (run_id, model_id, prompt_set) "
        "WHERE metric = 'gain_last_block'"
    )
    assert len(one) == 1


def test_every_view_of_measurements_has_the_run_of_each_row(add_run, tiny_directory):
    names = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
    once, store = open_store(tiny_directory), open_store(add_run("again", special_tokens="always"))
    untold, grown = [], []
    for view in store.query(names)["view_name"]:
        rows = store.query(f"FROM {view}")
        if len(rows) > len(once.query(f"FROM {view}")):
            grown.append(view)
            untold += [view] if "run_id" not in rows else []
    assert untold == []
    assert "gain_by_model" in grown


@pytest.mark.parametrize("hashed", ["weights_sha256", "config_sha256"])
def test_the_trace_takes_the_very_weights_that_were_asked(add_run, hashed):
    # Another checkpoint or configuration under the same name, its V three times as large.
    store = open_store(add_run("other", kind="weights", revision="b" * 40, **{hashed: "1"}))
    rows = store.query("FROM layer_trace WHERE prompt_id = 'S:00' ORDER BY layer")
    assert rows["trace_multi_head"].tolist() == [100.0, 400.0, 900.0]
    assert store.query("FROM weights_of_run")["weights_run_id"].tolist() == ["run-weights"]


def test_of_two_runs_of_the_same_weights_the_conforming_one_counts(add_run):
    store = open_store(add_run("a", kind="weights", is_conforming=False))
    rows = store.query("FROM layer_trace WHERE prompt_id = 'S:00' ORDER BY layer")
    assert rows["trace_multi_head"].tolist() == [100.0, 400.0, 900.0]
    assert rows["is_conforming"].tolist() == [True] * 3


def test_a_trace_without_its_weights_is_absent(add_run):
    directory = add_run("other", kind="weights", **LATER)
    (directory / "run" / "test--tiny.parquet").unlink()
    assert open_store(directory).query("FROM layer_trace").empty


def test_a_trace_from_weights_that_do_not_conform_says_so(add_run):
    directory = add_run("wrong", kind="weights", is_conforming=False)
    (directory / "run" / "test--tiny.parquet").unlink()
    rows = open_store(directory).query("FROM layer_trace")
    assert rows["is_conforming"].tolist() == [False] * 6


def test_a_claim_is_judged_on_conforming_plain_runs_only(tiny_store, add_run):
    [_, expected] = trace.equation_4(tiny_store)
    add_run("chat", rendering="chat")
    [_, result] = trace.equation_4(open_store(add_run("wrong", is_conforming=False)))
    assert expected.n_obs == 3
    assert repr(result) == repr(expected)  # NaN included


def test_the_worst_deviation_of_each_property_is_named(add_run):
    store = open_store(add_run("again", rendering="chat"))
    rows = store.query("FROM conformance_summary ORDER BY property").set_index("property")
    assert rows["n_runs"].tolist() == [2, 2]
    assert rows["n_models"].tolist() == [1, 1]
    assert rows["n_met"].tolist() == [2, 2]
    assert rows.loc["attention_rows", ["worst_deviation", "worst_layer"]].tolist() == [1e-7, 1]
    assert rows.loc["attention_rows", "worst_model_id"] == "test/tiny"
    # A property from which no run deviates has no worst run.
    assert rows["worst_model_id"].isna().tolist() == [False, True]
    assert rows["worst_layer"].isna().tolist() == [False, True]


def test_properties_that_failed_are_counted_apart_from_those_not_checked(tiny_copy):
    path = tiny_copy / "conformance" / "test--tiny@S.parquet"
    rows = pd.read_parquet(path)
    is_met = rows["property"].map({"attention_rows": False, "finite": None}).astype("boolean")
    write_table("conformance", rows.assign(is_met=is_met), path)
    result = open_store(tiny_copy).query("FROM conformance_summary ORDER BY property")
    counts = result[["n_runs", "n_met", "n_failed", "n_unchecked"]].to_numpy().tolist()
    assert counts == [[1, 0, 1, 0], [1, 0, 0, 1]]


PLACES = """
SELECT CASE schema_name WHEN 'main' THEN '' ELSE 'raw.' END || table_name
  FROM duckdb_columns()
 WHERE NOT internal AND column_name = 'model_id'
 ORDER BY ALL
"""


def scans(plan):
    """Yield the description of every scan of Parquet files in a plan."""
    if "PARQUET" in plan["name"]:
        yield plan["extra_info"]
    for child in plan["children"]:
        yield from scans(child)


@pytest.fixture(scope="module")
def filtered(shipped_store):
    """The scans of each table and view with a model_id, when one model is asked for."""
    result = {}
    for (name,) in shipped_store.connection.sql(PLACES).fetchall():
        asked = f"EXPLAIN (FORMAT json) SELECT * FROM {name} WHERE model_id = 'a/b'"
        (plan,) = json.loads(shipped_store.query(asked)["explain_value"].item())
        result[name] = list(scans(plan))
    return result


def test_a_constant_model_id_reaches_every_scan(filtered):
    assert sum(len(scanned) > 0 for scanned in filtered.values()) > 25
    assert len(filtered["raw.model_gain"]) > 5
    assert all(len(filtered[f"raw.{name}"]) == 1 for name in ("attention", "residual_norm"))
    assert len(filtered["block"]) > 3
    assert {"attention", "residual_norm"} < set(schema.LARGE)
    unfiltered = {
        name: scan
        for name, scanned in filtered.items()
        for scan in scanned
        if "model_id = 'a/b'" not in str(scan.get("Filters"))
    }
    assert unfiltered == {}
