"""What opening refuses: tables stored twice, files that are not as their run file says."""

import os
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from analysis.delia2026.pages.colophon import colophon
from analysis.store import open_store
from analysis.tidy.errors import StoreError
from collect import schema
from collect.errors import CollectError
from collect.schema.headers import Headers, reading
from collect.schema.sources import Sources
from tests.collect.record.written import SAMPLE, change_column, copy_sample, flip, rewrite

STEM = "thermoscope--gpt2-l4-adamw"
PROMPTS = f"{STEM}@A_grand_unified"


@pytest.fixture
def unit(tmp_path):
    """A directory with the two units of one model of the sample."""
    return copy_sample(tmp_path / "unit", STEM, PROMPTS)


def test_what_was_compared_is_said(unit):
    store = open_store(unit)
    assert store.comparison.n_files == store.comparison.n_sizes + 1  # the prompts have no size
    assert "contents were not compared" in store.comparison.words
    verified = open_store(unit, verify=True)
    assert verified.comparison.n_hashes == verified.comparison.n_files
    facts = colophon(verified).set_index("item")["value"]
    assert facts["measured files"] == verified.comparison.words
    assert "by their hashes" in facts["measured files"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("table", ["residual_norm", "prompt", "run", "model"])
def test_a_table_in_two_places_of_a_directory_is_refused(unit, table, suffix):
    rows = pq.ParquetFile(next((unit / table).glob("*.parquet"))).read()
    if suffix == ".csv":
        rows.to_pandas().to_csv(unit / f"{table}.csv", index=False)
    else:
        pq.write_table(rows, unit / f"{table}.parquet")
    with pytest.raises(StoreError, match=f"Table {table} must lie in one place"):
        open_store(unit)


@pytest.mark.parametrize(
    ("old", "new", "problem", "hint"),
    [
        ("model_id,", "modell_id,", "columns of table model", "modell_id is probably model_id"),
        ("model_id,", "zzz,", "columns of table model", "Correct it there; data/README.md lists"),
        ("n_layers\n", "n_layers,why\n", r"cannot be read \(.*columns", "Correct it there"),
        ("model_id,", "mod\xe9,", r"cannot be read \('utf-8'", "Correct it there"),
        (
            "12",
            "twelve",
            "Column n_layers of .*; row 1 has the invalid value 'twelve'",
            "Correct it there",
        ),
    ],
)
def test_a_table_that_a_person_wrote_is_to_be_corrected(tmp_path, old, new, problem, hint):
    names = [name for name in schema.arrow_schema("model").names if name != "n_layers"]
    rows = f"{','.join(names)},n_layers\n{','.join('' for _ in names)},12\n"
    (tmp_path / "model.csv").write_text(rows.replace(old, new, 1), encoding="latin-1")
    with pytest.raises(StoreError, match=problem) as refusal:
        open_store(tmp_path)
    assert refusal.value.hint.startswith(hint)
    assert refusal.value.problem.count(str(tmp_path)) == 1


def test_a_changed_number_of_the_same_size_is_found_by_its_hash(unit):
    path = at(unit, "attention")
    state = path.stat()
    flip(path, state.st_size // 3)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    open_store(unit)
    with pytest.raises(StoreError, match=r"must have the content that was hashed"):
        open_store(unit, verify=True)


def without_hash(path, **more):
    """Take from a run file the hash of its row, as files of earlier versions have none."""
    rows = pq.ParquetFile(path).read()
    kept = {k: v for k, v in rows.schema.metadata.items() if k != b"run_sha256"}
    pq.write_table(rows.replace_schema_metadata({**kept, **more}), path)


def test_times_of_the_last_change_are_counted_not_demanded(unit):
    name = f"attention/{PROMPTS}.parquet"
    time = (unit / name).stat().st_mtime_ns
    without_hash(at(unit, "run"), times=f'{{"{name}": {time}}}')
    assert open_store(unit).comparison.n_times == 1
    os.utime(unit / name, ns=(time, time + 1))
    assert open_store(unit).comparison.n_times == 0


def at(unit, table, stem=PROMPTS):
    return unit / table / f"{stem}.parquet"


def column(table, name, values, stem=PROMPTS):
    return lambda unit: change_column(at(unit, table, stem), name, values)


def rows_of_run(change):
    return lambda unit: rewrite(at(unit, "run"), change)


def metadata(content):
    """Return what puts other metadata into a run file."""

    def damage(unit):
        rows = pq.ParquetFile(at(unit, "run")).read()
        changed = {**rows.schema.metadata, b"rows": content.encode()}
        pq.write_table(rows.replace_schema_metadata(changed), at(unit, "run"))

    return damage


def copied(unit):
    for path in unit.glob(f"*/{PROMPTS}.parquet"):
        shutil.copy(path, path.with_stem("copy"))


def unlisted(unit):
    shutil.copy(at(unit, "attention"), at(unit, "attention", STEM))


NO_TEXT = pa.StringArray.from_buffers(
    1, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")
)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (column("prompt", "text", pc.utf8_upper, "A_grand_unified"), "prompts that were measured"),
        (column("attention", "mass", lambda it: pc.add(it, 1e-9)), r"must have \d+ bytes, as its"),
        (column("run", "dtype_compute", pa.array(["float64"])), "the row and the metadata that"),
        (column("run", "model_id", NO_TEXT), "cannot be read"),
        (rows_of_run(lambda rows: rows.slice(0, 0)), "must have one row, .*; it has 0"),
        (rows_of_run(lambda rows: pa.concat_tables([rows] * 2)), "must have one row, .*; it has 2"),
        (metadata("[" * 100_000), "must be a complete file of this project"),
        (metadata("7"), "must be a complete file of this project"),
        (metadata('{"a": "b"}'), "must be a complete file of this project"),
        (metadata('{"a"'), "must be a complete file of this project"),
        (copied, r"must have a run_id of its own|must be listed"),
        (unlisted, "must be listed in its unit's run file"),
    ],
)
def test_a_unit_that_is_not_as_its_run_file_says_is_refused(unit, damage, sentence):
    damage(unit)
    with pytest.raises(StoreError, match=sentence):
        open_store(unit, verify="prompts" in sentence)


def prompts_of(directory, **entries):
    """Write the prompts of the sample, with some entries as of another version, in no unit."""
    rows = pq.ParquetFile(SAMPLE / "prompt/A_grand_unified.parquet").read().to_pylist()
    changed = pa.Table.from_pylist([row | entries for row in rows])
    place = changed.column_names.index("complexity")
    narrow = changed.set_column(place, "complexity", changed["complexity"].cast(pa.int32()))
    (directory / "prompt").mkdir(parents=True)
    pq.write_table(narrow, directory / "prompt/A_grand_unified.parquet")
    return directory


def test_prompts_of_an_earlier_version_are_those_that_say_that_they_are_text(tmp_path):
    earlier = prompts_of(tmp_path / "earlier")
    assert "format" not in pq.read_schema(earlier / "prompt/A_grand_unified.parquet").names
    later = prompts_of(tmp_path / "later", format="text")
    for places in ((earlier, later), (later, earlier)):
        result = open_store(*places).query("SELECT format, count(*) AS n FROM prompt GROUP BY ALL")
        assert result.to_numpy().tolist() == [["text", 25]]
    for entries in ({"format": "turns"}, {"format": "text", "text": "Another"}):
        other = prompts_of(tmp_path / "-".join(map(str, entries.values())), **entries)
        with pytest.raises(StoreError, match="duplicate key"):
            open_store(earlier, other)


def test_prompts_of_an_interrupted_measurement_are_left_out(unit):
    n_prompts = open_store(unit).query("FROM prompt").shape[0]
    path = unit / "prompt" / "A_grand_unified.parquet"
    rows = pq.ParquetFile(path).read().to_pandas().assign(prompt_id=lambda r: "x" + r["prompt_id"])
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), path.with_stem("other"))
    assert open_store(unit).query("FROM prompt").shape[0] == n_prompts


def test_a_table_of_no_unit_is_refused_for_repeated_keys_and_other_columns(tmp_path):
    path, expected = tmp_path / "published_value.parquet", schema.arrow_schema("published_value")
    value = {"file": "f", "path": "p", "metric": "m", "statistic": "value", "value": 1.0}
    value |= {"unit": "1", "caveats": ""}
    rows = pa.Table.from_pylist([value], schema=expected)
    place, layer = rows.column_names.index("layer"), rows.column("layer")
    for wrong, sentence in (
        (pa.concat_tables([rows, rows]), "Each key of table published_value must occur once"),
        (rows.set_column(place, "layer", layer.cast(pa.int64())), r"found in layer \(int64\)"),
        (rows.append_column("layer", layer), "each column of table published_value once"),
    ):
        pq.write_table(wrong, path)
        with pytest.raises(StoreError, match=sentence):
            open_store(tmp_path)
    pq.write_table(rows, path)
    assert len(open_store(tmp_path).query("FROM published_value")) == 1


def test_each_header_is_read_once(unit, monkeypatch):
    opened = []
    original = pq.ParquetFile

    class Counted(original):  # type: ignore[misc,valid-type]
        def __init__(self, source, *arguments, metadata=None, **named):
            if metadata is None:
                opened.append(str(source))
            super().__init__(source, *arguments, metadata=metadata, **named)

    monkeypatch.setattr(pq, "ParquetFile", Counted)
    open_store(unit)
    assert sorted(opened) == sorted(str(path) for path in unit.glob("*/*.parquet"))


def test_a_name_that_no_file_can_bear_is_no_traceback(tmp_path):
    for name in ("a" * 5000, "a\0b", "\ud800"):
        with pytest.raises(StoreError, match="must be opened from existing places"):
            open_store(tmp_path / name)


def test_comments_read_off_the_text_are_those_that_the_engine_has():
    connection = schema.connect()
    tables = schema.described(connection, "memory")
    assert tables == schema.tables()
    _, comments = schema.commented(schema.schema_sql())
    assert len(comments) == schema.schema_sql().count("COMMENT ON ")
    assert comments["residual_norm"] == tables["residual_norm"].meaning


def test_a_broken_contract_is_one_of_the_refusals_of_collection(tmp_path):
    (tmp_path / "run.parquet").write_bytes(b"no Parquet")
    with pytest.raises(CollectError, match="must be a complete") as refusal:
        schema.read_rows(tmp_path / "run.parquet", "run")
    assert isinstance(refusal.value, schema.ContractError)
    assert isinstance(refusal.value, schema.headers.UNREADABLE)
    assert refusal.value.exit_code == 2


@pytest.mark.parametrize("version", [1, 4, 99])
def test_what_another_version_measured_is_refused_though_its_columns_are_the_same(unit, version):
    without_hash(at(unit, "run"))
    open_store(unit)
    change_column(at(unit, "run"), "schema_version", pa.array([version], pa.int32()))
    with pytest.raises(StoreError, match=f"is of schema version {version}; this program reads 2"):
        open_store(unit)


@pytest.mark.parametrize(
    "names", [["x" * 1_000_000], [f"c{n}" for n in range(500)], ["\x1b]0;title\x07\u202e"]]
)
def test_the_names_of_a_hostile_schema_are_shown_short_and_printable(unit, names):
    path = unit / "run" / f"{PROMPTS}.parquet"
    rows = pq.ParquetFile(path).read()
    for name in names:
        rows = rows.append_column(name, pa.nulls(len(rows), pa.int8()))
    pq.write_table(rows.drop_columns(["model_id"]), path)
    with pytest.raises(StoreError, match=r"columns of table run; missing: model_id") as refusal:
        open_store(unit)
    assert len(refusal.value.problem) < 1000
    assert refusal.value.problem.isprintable()


def many_units(directory):
    """Copy every unit of the sample, enough that small tables are read together."""
    stems = {path.stem for path in (SAMPLE / "run").glob("*.parquet")}
    return copy_sample(directory, *stems)


def test_small_tables_that_are_read_together_are_what_each_file_holds(tmp_path):
    place = many_units(tmp_path / "many")
    sources, alone = Sources(), Headers()
    sources.add(place)
    read = [
        (path, sources.headers.of(path).rows)
        for paths in sources.files.values()
        for path in paths
        if sources.headers.of(path).rows is not None
    ]
    assert len([path for path, _ in read if path.parent.name == "run"]) >= 16
    assert all(rows.equals(alone.of(path).rows) for path, rows in read)


def test_no_file_is_opened_twice(tmp_path, monkeypatch):
    place, names = many_units(tmp_path / "many"), []
    first = reading.opened
    monkeypatch.setattr(reading, "opened", lambda path: names.append(path) or first(path))
    open_store(place)
    assert len(names) == len({*names}) > 16


@pytest.mark.parametrize("fault", ["cut", "swapped", "column", "pattern"])
def test_a_fault_among_files_read_together_is_refused_by_name(tmp_path, fault):
    place = many_units(tmp_path / ("a [b] *" if fault == "pattern" else "many"))
    path, other = sorted((place / "run").glob("*.parquet"))[-2:]
    if fault == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif fault == "swapped":
        rows, foreign = (pq.ParquetFile(at).read() for at in (path, other))
        metadata = rows.schema.metadata
        pq.write_table(foreign.replace_schema_metadata(metadata), path)
    else:
        rewrite(path, lambda rows: rows.append_column("later", pa.array([1])))
    with pytest.raises(StoreError) as refusal:
        open_store(place)
    assert path.name in refusal.value.problem
