"""Gains and lengths against numbers counted by hand from the norms in conftest.py."""

import math

import pandas as pd
import pytest

from analysis.store import open_store
from analysis.tidy.defaults import BAND
from collect.record.writer import write_table

GAIN = "SELECT gain FROM prompt_gain WHERE metric = '{}' ORDER BY prompt_id"
LENGTH = "SELECT {} FROM stream_length WHERE prompt_id = 'S:0{}' AND layer = 2"
BY_LENGTH = (
    "SELECT gain FROM length_gain WHERE prompt_id = 'S:00' AND layer = 1 AND reduction = '{}'"
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # The last token of S:00 has norms 2 (input), 4, 6, 3 and 9 after the final norm.
        # The only token of S:01 has norms 1 (input), 2, 1, 4 and 7 after the final norm.
        (GAIN.format("gain_last_block"), [3 / 6, 4 / 1]),
        (GAIN.format("gain_penultimate_block"), [6 / 4, 1 / 2]),
        (GAIN.format("gain_embedding"), [4 / 2, 2 / 1]),
        (GAIN.format("gain_with_final_norm"), [9 / 6, 7 / 1]),
        (GAIN.format("gain_geometric_mean"), [(3 / 2) ** (1 / 3), 4 ** (1 / 3)]),
        (GAIN.format("gain_body"), [(3 / 4) ** (1 / 2), (4 / 2) ** (1 / 2)]),
        (GAIN.format("gain_maximum"), [6 / 4, 4 / 1]),
        (GAIN.format("total_amplification"), [3 / 4, 4 / 2]),
        # Over both tokens: sqrt(8^2 + 3^2) after the last block, sqrt(8^2 + 6^2) = 10 before.
        (GAIN.format("gain_whole_matrix"), [math.sqrt(73) / 10, 4 / 1]),
        # sqrt(4^2 + 4^2) after block 0; looked up were 0.6 and 0.8, sqrt(0.36 + 0.64) = 1.
        (GAIN.format("gain_embedding_whole_matrix"), [math.sqrt(32), 2 / 0.5]),
        # Without the first token none is left of a prompt of one.
        (GAIN.format("gain_without_first"), [3 / 6]),
        ("SELECT gain FROM matrix_gain_from(1) WHERE layer > 0 ORDER BY layer", [6 / 4, 3 / 6]),
        ("SELECT DISTINCT prompt_id = 'S:00' FROM matrix_gain_from(1)", [True]),
        ("SELECT sum(log_gain) FROM block_gain GROUP BY prompt_id, position "
         "ORDER BY prompt_id, position", [math.log(8 / 1), math.log(3 / 2), math.log(4 / 1)]),
        # The two tokens have norms 8 and 3; a prompt of one token has no body.
        (LENGTH.format("last_token", 0), [3]),
        (LENGTH.format("whole_matrix", 0), [math.sqrt(73)]),
        (LENGTH.format("token_mean", 0), [5.5]),
        (LENGTH.format("body_median", 0), [3]),
        (LENGTH.format("largest", 0), [8]),
        (LENGTH.format("token_median", 0), [5.5]),
        (LENGTH.format("body_median IS NULL", 1), [True]),
        # Block 1 of S:00 takes the norms 4, 4 to 8, 6.
        (BY_LENGTH.format("last_token"), [6 / 4]),
        (BY_LENGTH.format("whole_matrix"), [10 / math.sqrt(32)]),
        (BY_LENGTH.format("token_mean"), [7 / 4]),
        (BY_LENGTH.format("body_median"), [6 / 4]),
        # Means of ratios over prompts: 1/2 and 4.
        ("UNPIVOT (SELECT gain_mean, gain_sd, gain_sd_population, log_gain_mean, log_gain_sd, "
         "n_prompts::DOUBLE AS n FROM model_gain WHERE metric = 'gain_last_block') ON COLUMNS(*)",
         [4.5 / 2, 3.5 / math.sqrt(2), 3.5 / 2, math.log(2) / 2, math.log(8) / math.sqrt(2), 2]),
        # What has no sign is not called neutral.
        ("SELECT gain_sign(NULL, 0.01) IS NULL", [True]),
        ("SELECT gain_sign('NaN'::DOUBLE, 0.01) IS NULL", [True]),
        ("SELECT gain_sign('Infinity'::DOUBLE, 0.01) = 'expand'", [True]),
        ("SELECT gain_bound(10)", [1.2589254117941673]),
        ("SELECT head_density(32, 128)", [0.25]),
        ("SELECT DISTINCT log_parameters FROM gain_by_model", [3]),  # of 1,000 parameters
    ],
)  # fmt: skip
def test_a_number_is_that_counted_by_hand(tiny_store, query, expected):
    assert tiny_store.query(query).iloc[:, -1].tolist() == pytest.approx(expected, rel=1e-14)


def test_the_gain_of_a_last_token_is_that_of_its_block(shipped_store):
    of_block = """
        SELECT g.run_id, g.model_id, g.prompt_id, g.layer, g.gain, g.log_gain, g.log_gain_centred
          FROM block_gain AS g
          JOIN next_token AS t USING (run_id, model_id, prompt_id)
         WHERE t.n_tokens - 1 = g.position
    """
    both = (of_block, "SELECT * FROM last_token_gain")
    left = [shipped_store.query(f"{one} EXCEPT ALL {other}") for one, other in (both, both[::-1])]
    assert [len(rows) for rows in left] == [0, 0]
    assert shipped_store.query("SELECT count(*) AS n FROM last_token_gain")["n"].item() > 1000


def test_no_gain_is_made_from_a_block_that_is_missing_or_a_length_of_zero(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    norms = pd.read_parquet(path)
    at = (norms["layer"] == 1) & (norms["site"] == "block_output")
    is_first = norms["prompt_id"] == "S:00"
    norms.loc[at & ~is_first, ["norm", "norm_centred"]] = 0.0
    write_table("residual_norm", norms[~(at & is_first)], path)
    store = open_store(tiny_copy)
    for view in ("block_gain", "last_token_gain"):
        assert set(store.query(f"SELECT layer FROM {view}")["layer"]) == {0}, view


def test_a_special_token_is_no_body(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    write_table("residual_norm", pd.read_parquet(path).assign(is_special=True), path)
    store = open_store(tiny_copy)
    assert store.query("SELECT body_median FROM stream_length")["body_median"].isna().all()
    assert not store.query("SELECT is_body FROM token")["is_body"].any()


def test_the_gain_of_the_whole_matrix_is_that_of_its_length(tiny_store):
    columns = "run_id, model_id, prompt_id, layer, gain"
    lengths = tiny_store.query(
        f"SELECT {columns} FROM length_gain WHERE reduction = 'whole_matrix' ORDER BY ALL"
    )
    matrices = tiny_store.query(f"SELECT {columns} FROM matrix_gain ORDER BY ALL")
    assert len(matrices) > 3
    pd.testing.assert_frame_equal(matrices, lengths, check_exact=True)
    signs = tiny_store.query(
        "SELECT DISTINCT sign_strict FROM gain_by_model WHERE metric IN "
        "('gain_last_block', 'gain_body', 'gain_penultimate_block')"
    )
    assert set(signs["sign_strict"]) == {"expand", "neutral"}
    printed = tiny_store.query(
        "SELECT comment FROM duckdb_columns() WHERE (table_name, column_name) = "
        "('gain_by_model', 'sign_strict')"
    )["comment"].item()
    assert [sign for sign in ("dampen", "neutral", "expand") if sign not in printed] == []


def test_gains_within_the_band_are_neutral_and_others_keep_their_sign(tiny_store, shipped_store):
    rows = tiny_store.query(
        "SELECT gain_sign(x * rounding_band(), rounding_band()) AS sign, rounding_band() AS band "
        "FROM (VALUES (-2), (-1), (0), (1), (2)) t(x)"
    )
    assert set(rows["band"]) == {BAND}  # what Python calls the band
    assert rows["sign"].tolist() == ["dampen", "neutral", "neutral", "neutral", "expand"]
    rows = shipped_store.query("SELECT log_gain, sign_strict, sign_banded FROM gain_by_model")
    is_near = rows["log_gain"].abs() <= BAND
    assert 0 < is_near.sum() < len(rows)
    assert (rows["sign_banded"] == rows["sign_strict"].mask(is_near, "neutral")).all()
    assert (rows["sign_strict"] == "neutral").sum() < is_near.sum()


def test_the_published_density_ignores_the_width_of_the_heads(tiny_store, published_store):
    # Gemma 7B: 16 heads of 256 in a stream of 3072; the notebooks take 3072 // 16 = 192.
    row = tiny_store.query(
        "SELECT head_density_published(16, 3072) AS r, head_density(16, 256) AS c"
    )
    assert (row["r"].item(), row["c"].item()) == (16 / 192, 16 / 256)
    # A width that the heads do not divide is rounded down: 100 // 3 = 33.
    rounded = tiny_store.query("SELECT head_density_published(3, 100) AS r")
    assert rounded["r"].item() == 3 / 33
    rho = published_store.query(
        "SELECT DISTINCT rho FROM gain_by_model WHERE model_id = 'google/gemma-7b'"
    )
    assert rho["rho"].item() == 16 / 256
    densities = tiny_store.query("FROM density").iloc[0]
    assert densities[["rho", "rho_published", "rho_kv"]].tolist() == [1.0, 1.0, 0.5]


def test_every_view_and_metric_of_a_gain_is_described(tiny_store, shipped_store):
    views = tiny_store.query(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL"
    )
    macros = tiny_store.query(
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal AND comment IS NULL"
    )
    assert views["view_name"].tolist() == []
    assert macros["function_name"].tolist() == []
    missing = shipped_store.query(
        "SELECT DISTINCT metric FROM prompt_gain ANTI JOIN gain_definition USING (metric)"
    )["metric"].tolist()
    printed = shipped_store.query(
        "SELECT comment FROM duckdb_views() WHERE view_name = 'gain_definition'"
    )["comment"].item()
    assert missing
    assert [metric for metric in missing if metric not in printed] == []
    rows = shipped_store.query(
        "SELECT metric, count(DISTINCT source) AS sources FROM gain_by_model GROUP BY metric"
    ).set_index("metric")["sources"]
    shared = ["gain_last_block", "gain_penultimate_block", "gain_with_final_norm", "gain_body"]
    assert rows[shared].tolist() == [2, 2, 2, 2]


def test_a_massive_token_is_named_with_its_blocks(tiny_copy):
    # Token 0 is 100 after blocks 0 and 1 where four others are 5, and 2 after the last block.
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    rows = pd.read_parquet(path)
    row = rows[(rows["prompt_id"] == "S:00") & (rows["site"] == "block_output")].iloc[0]
    made = pd.DataFrame([row] * 15).assign(
        layer=[layer for layer in (0, 1, 2) for _ in range(5)], position=[*range(5)] * 3, norm=5.0
    )
    massive = (made["position"] == 0) & (made["layer"] < 2)
    made["norm"] = made["norm"].mask(massive, 100.0 * (1 + made["layer"]))
    write_table("residual_norm", made, path)
    [token] = open_store(tiny_copy).query("FROM outlier_token").to_dict("records")
    assert [token[c] for c in ("position", "first_layer", "last_layer", "largest_layer")] == [
        0,
        0,
        1,
        1,
    ]
    assert (token["n_layers_massive"], token["times_median"]) == (2, 40.0)
