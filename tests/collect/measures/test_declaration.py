"""One file makes a quantity: what is found in the room is declared, planned and stored."""

import re

import pytest

from collect.instruments.imported import OF_STATES
from collect.measures.register import BUILT_IN, FILLED, OF_VECTORS
from collect.schema import LARGE, tables


@pytest.mark.parametrize("table", OF_VECTORS)
def test_a_file_of_the_room_is_all_that_a_quantity_needs(table):
    quantity = OF_VECTORS[table]
    assert [filled.name for filled in BUILT_IN[quantity.name].tables] == [table]
    assert FILLED[table].row_bytes > 0
    assert quantity.name in OF_STATES
    assert table in LARGE
    assert tables()[table].key == ("run_id", "prompt_id", "layer", "site")
    known = {column.name: column for column in tables()[table].columns}
    for column in quantity.columns:
        stored = known[column.name]
        assert (stored.meaning, stored.unit, stored.sql_type, stored.nullable) == (
            column.meaning,
            column.unit,
            "DOUBLE",
            True,
        )


@pytest.mark.parametrize("quantity", BUILT_IN.values(), ids=BUILT_IN)
def test_every_quantity_names_a_source_with_a_year_or_says_that_it_is_defined_here(quantity):
    assert re.search(r"\b(1[89]|20)\d\d\b|defin", quantity.source)
