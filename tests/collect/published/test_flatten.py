"""Files become leaves, each with its place."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect.errors import InputError
from collect.published.flatten import leaves, read_document


def test_a_document_becomes_its_leaves_with_paths() -> None:
    document = {"rows": [{"a b": 1.5}, {"a b": None}], "it's": [True, "x"], "empty": [], "none": {}}
    found = {leaf.path: leaf.value for leaf in leaves(document)}
    assert found == {
        "$.rows[0]['a b']": 1.5,
        "$.rows[1]['a b']": None,
        "$['it\\'s'][0]": True,
        "$['it\\'s'][1]": "x",
    }


def test_a_leaf_knows_the_fields_around_it_and_the_nearest_win() -> None:
    document = {"model": "outer", "set": "B", "rows": [{"model": "inner", "gains": [1.0, 2.0]}]}
    last = list(leaves(document))[-1]
    assert last.is_last
    assert last.fields == {"model": "inner", "set": "B"}


documents = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.text("a'\\\\.[]0", max_size=4), children)
    ),
    max_leaves=12,
)


@given(documents)
def test_paths_are_never_shared_and_no_scalar_is_lost(document: Any) -> None:
    def scalars(node: Any) -> int:
        if isinstance(node, dict):
            return sum(scalars(child) for child in node.values())
        return sum(map(scalars, node)) if isinstance(node, list) else 1

    paths = [leaf.path for leaf in leaves(document)]
    assert len(set(paths)) == len(paths) == scalars(document)


def test_nan_that_strict_json_forbids_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"x": NaN}', encoding="utf-8")
    document = read_document(tmp_path / "a.json")
    assert isinstance(document, dict)
    assert math.isnan(document["x"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '{"x": 1,\n "y": }', "The file a.json must be JSON; line 2 column 7"),
        ("a.csv", "x,y\n1,2\n3\n", "Every row of a.csv must have 2 cells like its header; line 3"),
        ("a.csv", 'x,y\n1,"2\n', "The file a.csv must be CSV; line 2"),
        ("a.csv", "x,x\n1,2\n", "The columns of a.csv must have different names; 'x'"),
        ("a.json", '"\udcff"', "The file a.json must be UTF-8 text; byte 1 is not"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_and_place(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=re.escape(message)):
        read_document(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 100_000 + "]" * 100_000, "must be nested at most 100 deep"),
        ("[" * 101 + "]" * 101, "must be nested at most 100 deep"),
        ('{"a": 1' + "0" * 400 + "}", "must be one that a double can hold; found 10000"),
        ('{"a": 1' + "0" * 5000 + "}", "must be one that a double can hold; found 10000"),
        ('{"a": 1e400}', "must be one that a double can hold; found 1e400"),
        (r'{"a": "\ud800"}', "must be one that UTF-8 can hold"),
        (r'{"\udfff": 1}', "must be one that UTF-8 can hold"),
    ],
    ids=["very deep", "deep", "10^400", "10^5000", "1e400", "surrogate", "surrogate in a name"],
)
def test_json_that_no_table_could_hold_is_refused(tmp_path, text, sentence) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_document(path)


def test_what_python_writes_for_infinity_is_still_read(tmp_path) -> None:
    path = tmp_path / "file.json"
    path.write_text("[Infinity, -Infinity, 1e308, 10]")
    assert read_document(path) == [math.inf, -math.inf, 1e308, 10]
