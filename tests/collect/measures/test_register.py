"""Each built-in quantity is declared once, and all that is derived from it agrees."""

import re
from pathlib import Path

import pytest

from collect.instruments import rows
from collect.measures.declaration import Extent
from collect.measures.register import BUILT_IN, FILLED, NEEDED, OF_VECTORS
from collect.schema import LARGE, MEASURED, connect, tables

GUIDE = Path(__file__).parents[3] / "quarto" / "guides" / "_measure.qmd"

#: GPT-2 on prompts of 10 and 20 tokens.
GPT2 = Extent(12, 12, 2, 30, True, True, True, True, True, False)


@pytest.mark.parametrize("table", FILLED)
def test_a_declared_table_is_in_the_contract_and_one_quantity_fills_it(table):
    assert tables()[table].key[0] == "run_id"
    assert table in MEASURED
    assert table in LARGE
    filling = [it.name for it in BUILT_IN.values() if FILLED[table] in it.tables]
    assert len(filling) == 1
    assert FILLED[table].row_bytes > 0


def test_rows_of_an_extent_are_counted_by_hand():
    counted = {table: filled.n_rows(GPT2) for table, filled in FILLED.items()}
    assert {table: n for table, n in counted.items() if table not in OF_VECTORS} == {
        **{"weight_norm": 12 * 12 * 9, "matrix_norm": 12 * 4, "residual_norm": 30 * (1 + 14 + 12)},
        **{"residual_update": 30 * 12 * 3, "next_token": 2, "attention": 2 * 12 * 12},
        **{"attention_mean": 2 * 12, "token_geometry": 2 * 14, "prompt_geometry": 14},
        **{"token_prediction": 30, "legacy_value": 2 * (6 * 12 + 4)},
    }
    assert {counted[table] for table in OF_VECTORS} <= {2 * 14}


def test_what_is_measured_in_a_batch_has_rows_and_the_rest_is_of_all_prompts_or_of_weights():
    by_site = {"token_geometry", *OF_VECTORS}
    across = {"next_token", "prompt_geometry", *(it.name for it in BUILT_IN["weights"].tables)}
    assert rows._OF_BATCH.keys() == FILLED.keys() - across - by_site


@pytest.mark.parametrize("table", FILLED)
def test_audited_values_are_columns_of_the_table_in_the_order_of_its_key(table):
    key = tables()[table].key
    queries = FILLED[table].queries()
    with connect(comments=False) as connection:
        for query in queries.values():
            assert connection.sql(query).columns == ["run_id", "value"]
            assert query.endswith("ORDER BY " + ", ".join(key[1:]))


def test_every_quantity_is_named_in_the_contract_and_in_the_guide():
    (meaning,) = (c.meaning for c in tables()["run"].columns if c.name == "quantities")
    elsewhere = BUILT_IN.keys() - {it.name for it in OF_VECTORS.values()}
    assert elsewhere - {*re.findall(r"\w+", meaning)} == set()
    section = GUIDE.read_text("utf-8").partition("## Quantities")[2].partition("*Of your own.*")[0]
    assert elsewhere - {*re.findall(r"\w+", section)} == set()


def test_only_what_reads_heads_maps_or_logits_needs_more_than_a_stream():
    assert NEEDED.keys() == {"weights", "attention", "legacy", "predictions", "next_token"}
