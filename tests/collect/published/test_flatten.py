"""Files become leaves, each with its place."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collect.errors import InputError
from collect.published.flatten import leaves, read_document


def test_a_document_becomes_its_leaves_with_paths():
    document = {"rows": [{"a b": 1.5}, {"a b": None}], "it's": [True, "x"], "empty": [], "none": {}}
    result = {leaf.path: leaf.value for leaf in leaves(document)}
    assert result == {
        "$.rows[0]['a b']": 1.5,
        "$.rows[1]['a b']": None,
        "$['it\\'s'][0]": True,
        "$['it\\'s'][1]": "x",
    }


def test_a_leaf_knows_the_fields_around_it_and_the_nearest_win():
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
def test_paths_are_never_shared_and_no_scalar_is_lost(document):
    def scalars(node):
        if isinstance(node, dict):
            return sum(scalars(child) for child in node.values())
        return sum(map(scalars, node)) if isinstance(node, list) else 1

    paths = [leaf.path for leaf in leaves(document)]
    assert len(set(paths)) == len(paths) == scalars(document)


def test_nan_that_strict_json_forbids_is_read(tmp_path):
    (tmp_path / "a.json").write_text('{"x": NaN}', encoding="utf-8")
    document = read_document(tmp_path / "a.json")
    assert isinstance(document, dict)
    assert math.isnan(document["x"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"x": 1,\n "y": }'),
        ("a.json", b'"\xff"'),
        ("a.json", b"[" * 100_000 + b"]" * 100_000),
        ("a.csv", b"x,y\n1,2\n3\n"),
        ("a.csv", b'x,y\n1,"2\n'),
    ],
    ids=["json", "utf-8", "deep", "short row", "quote"],
)
def test_a_broken_file_is_refused_by_its_name(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        read_document(tmp_path / name)


def test_a_text_that_no_file_can_hold_is_refused_with_the_name_of_its_file(tmp_path):
    path = tmp_path / "result.json"
    path.write_text('{"n": "\\ud800"}')
    with pytest.raises(InputError, match=r"result\.json"):
        read_document(path)
