"""Rows tried against the contract: those in order by a look, all others by inserting them."""

from pathlib import Path

import pyarrow as pa
import pytest

from collect.schema import ContractError, Trial, check_rows, empty, read_rows

SAMPLE = Path(__file__).resolve().parents[3] / "data" / "sample"


def stored(table):
    """Return the rows of the table's first file."""
    return read_rows(sorted((SAMPLE / table).glob("*.parquet"))[0], table)


def spoilt(rows, column, value):
    """Return rows with one value of the second row replaced."""
    place = rows.column_names.index(column)
    values = rows.column(column).to_pylist()
    values[1] = value
    changed = pa.array(values, rows.schema.field(column).type)
    return rows.set_column(place, pa.field(column, changed.type), changed)


def check(rows):
    """Refuse rows of ``next_token`` that break its contract; others beside them do not."""
    whole = stored("next_token")
    for broken in check_rows("next_token", {"others": whole, "them": rows, "more": whole}):
        raise broken


def refuse_to_insert(table):
    raise AssertionError(f"rows of {table} were inserted")


def test_stored_rows_are_looked_at_and_not_inserted(monkeypatch):
    monkeypatch.setattr(empty, "empty_table", refuse_to_insert)
    tables = [path.name for path in SAMPLE.iterdir() if any(path.glob("*.parquet"))]
    assert len(tables) > 10
    for table in tables:
        rows = stored(table)
        reversed_columns = rows.select(rows.column_names[::-1])  # as some packs hold them
        assert list(check_rows(table, {"one": rows, "other": reversed_columns})) == []


def test_rows_wait_for_others_of_their_table_and_those_that_break_it_are_named(monkeypatch):
    rows, other = stored("next_token"), stored("matrix_norm")
    broken = pa.concat_tables([rows, rows.slice(3, 1)])
    trial = Trial(3 * len(rows))
    assert list(trial.add("next_token", "one", rows)) == []
    assert list(trial.add("matrix_norm", "other", other)) == []
    assert list(trial.add("next_token", "two", broken)) == []
    (fault,) = trial.add("next_token", "three", rows)
    assert fault.problem.startswith("Rows of two must satisfy")
    assert list(trial.add("next_token", "four", broken)) == []
    assert [fault.problem[:12] for fault in trial.rest()] == ["Rows of four"]
    assert list(trial.rest()) == []
    monkeypatch.setattr(empty, "FILES_TOGETHER", 2)
    result = [len([*trial.add("next_token", str(n), broken)]) for n in range(4)]
    assert result == [0, 2, 0, 2]


def test_rows_out_of_order_or_of_a_narrower_type_are_taken_where_they_are_distinct():
    rows = stored("next_token")
    check(rows.take(list(range(len(rows)))[::-1]))
    place = rows.column_names.index("n_tokens")
    narrow = rows.set_column(place, "n_tokens", rows.column("n_tokens").cast(pa.int16()))
    check(narrow)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("n_tokens", 0, "CHECK constraint failed"),
        ("n_tokens", None, "NOT NULL constraint failed"),
        ("run_id", None, "NOT NULL constraint failed"),
        ("prompt_id", "A_grand_unified:00", "duplicate key"),
        ("prompt_id", None, "NOT NULL constraint failed"),
    ],
)
def test_rows_that_break_the_contract_are_refused(column, value, reason):
    with pytest.raises(ContractError, match=f"Rows of them must satisfy .*{reason}"):
        check(spoilt(stored("next_token"), column, value))


def test_a_key_repeated_apart_and_text_that_is_none_are_refused():
    rows = stored("next_token")
    again = pa.concat_tables([rows, rows.slice(3, 1)])
    with pytest.raises(ContractError, match="duplicate key"):
        check(again)
    broken = pa.array([b"\xff"] * len(rows), pa.binary()).view(pa.string())
    place = rows.column_names.index("top_token")
    with pytest.raises(ContractError, match="must satisfy"):
        check(rows.set_column(place, rows.schema.field(place), broken))
