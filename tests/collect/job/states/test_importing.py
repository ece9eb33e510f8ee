"""Units written one after another: what it costs does not grow with what lies there."""

from dataclasses import replace

import pytest

from analysis.store import open_store
from analysis.tidy.errors import StoreError
from collect.errors import InputError
from collect.job.states import files
from collect.job.states.declared import declared
from collect.job.states.importing import import_states, opened
from collect.process import shipped
from collect.record import inventory
from collect.record.integrity import faults
from collect.schema.headers import cache, reading, written
from tests.collect.job.states.dumps import PROMPTS, entered_and_left, stored
from tests.collect.record.written import flip


@pytest.fixture(scope="module")
def source(model, tmp_path_factory):
    tokens = PROMPTS[0]
    states = entered_and_left(model, tokens)[1:].contiguous()
    path = stored("npz", states, tokens, tmp_path_factory.mktemp("states"))
    how = declared("jax", "block_output")
    return opened([files.head(path, how)], how, str(model), prompts=None)


def named(source, model_id):
    return replace(source, checkpoint=replace(source.checkpoint, model_id=model_id))


def test_one_more_unit_opens_no_run_file_of_another_model(source, tmp_path, monkeypatch):
    read, n_read = inventory.read_mark, []
    monkeypatch.setattr(inventory, "read_mark", lambda path: n_read.append(path) or read(path))
    for number in range(5):
        import_states(named(source, f"acme/m{number}"), tmp_path)
    assert n_read == []
    inventory._read.cache_clear()
    name, n_rows = import_states(named(source, "acme/m3"), tmp_path)
    assert n_rows == 0
    assert [path.stem for path in n_read] == [name]
    assert list(faults(tmp_path)) == []


def test_a_prompt_set_of_one_name_and_other_prompts_is_refused_whatever_model_has_it(
    source, model, tmp_path
):
    import_states(named(source, "acme/one"), tmp_path)
    tokens = PROMPTS[2]
    path = stored("npz", entered_and_left(model, tokens)[1:].contiguous(), tokens, tmp_path)
    how = declared("jax", "block_output")
    other = opened([files.head(path, how)], how, str(model), prompts=None)
    with pytest.raises(InputError, match=r"acme--one--jax@states.*prompt_set_sha256"):
        import_states(named(other, "acme/two"), tmp_path)
    assert list(faults(tmp_path)) == []


@pytest.fixture
def filled(source, tmp_path, monkeypatch):
    """A store that this process filled, as if it were large and its files had long settled."""
    monkeypatch.setattr(shipped, "results", lambda: tmp_path / "cache")
    monkeypatch.setattr(cache, "MANY", 1)
    monkeypatch.setattr(cache, "SETTLED", -60_000_000_000)
    for number in range(3):
        import_states(named(source, f"acme/m{number}"), tmp_path / "out")
    import_states(named(source, "acme/m1"), tmp_path / "out", overwrite=True)
    return tmp_path / "out"


@pytest.fixture
def read(monkeypatch):
    """The files whose headers were read."""
    paths, original = [], reading.opened
    monkeypatch.setattr(reading, "opened", lambda path: paths.append(path) or original(path))
    return paths


def test_a_store_is_first_opened_by_what_its_writer_left(filled, read, tmp_path):
    units = len(list(filled.glob("*/*.parquet"))) - 1
    assert units == 3 * 9
    written.leave()
    assert not written._stores
    read.clear()
    by_part = open_store(filled)
    assert [path.parent.name for path in read] == ["prompt"]
    for left in (tmp_path / "cache" / "headers").iterdir():
        left.unlink()
    by_files = open_store(filled)
    assert len(read) == 1 + units + 1
    assert by_part.comparison == by_files.comparison
    for table in ("run", "model", "conformance", "residual_norm", "not_measured"):
        rows = f"SELECT * FROM raw.{table} ORDER BY ALL"
        assert by_part.query(rows).equals(by_files.query(rows)), table


@pytest.mark.parametrize("table", ["run", "model", "conformance", "residual_norm"])
@pytest.mark.parametrize("is_left", [True, False])
def test_a_footer_that_is_damaged_after_the_writer_is_refused(filled, table, is_left):
    if is_left:
        written.leave()
    path = next((filled / table).glob("*m2*.parquet"))
    flip(path, path.stat().st_size - 8)  # the length of its footer
    with pytest.raises(StoreError, match=path.name):
        open_store(filled)


def test_a_file_that_changed_since_the_writer_is_read_again(filled, read):
    written.leave()
    path = next((filled / "residual_norm").glob("*m2*.parquet"))
    beside = path.with_suffix(".new")
    beside.write_bytes(path.read_bytes())
    beside.replace(path)
    read.clear()
    open_store(filled)
    assert {*read} >= {path}
    assert {item.parent.name for item in read} == {"prompt", "residual_norm"}


def test_what_several_processes_left_is_put_together_by_who_opens_the_store(
    filled, source, read, tmp_path, monkeypatch
):
    """However many they are: caches are held of so many stores, not so many parts."""
    monkeypatch.setattr(cache, "_MOST", 1)
    written.leave()
    import_states(named(source, "acme/m9"), filled)
    written.leave()
    caches = tmp_path / "cache" / "headers"
    assert len(list(caches.iterdir())) == 2
    for unknown in (["prompt"], []):
        read.clear()
        open_store(filled)
        assert [path.parent.name for path in read] == unknown
        assert len(list(caches.iterdir())) == 1


def test_files_put_down_a_moment_ago_are_not_kept(filled, source, read, monkeypatch):
    monkeypatch.setattr(cache, "SETTLED", 60_000_000_000)
    import_states(named(source, "acme/m9"), filled)
    written.leave()
    read.clear()
    open_store(filled)
    assert any("m9" in path.name for path in read)


def test_a_process_that_writes_little_leaves_nothing(source, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "results", lambda: tmp_path / "cache")
    import_states(named(source, "acme/one"), tmp_path / "out")
    written.leave()
    assert not (tmp_path / "cache").exists()
