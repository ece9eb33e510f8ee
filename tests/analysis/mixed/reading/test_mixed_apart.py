"""Rows that lie elsewhere: two measured directories collected apart, files behind a server."""

import io
import json
import shutil

import duckdb
import fsspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from analysis import mixed
from analysis.mixed.reading.statistics import shift_to
from analysis.store import open_store
from analysis.tidy.errors import DesignError, StoreError
from tests.analysis.mixed.at_theta import at_theta
from tests.analysis.places import ROOT, R

SAMPLE = ROOT / "data/sample"

FORMULA = "log_gain ~ family + layer + (1 + layer | model_id) + (1 | prompt_id)"

GAINS = """
    SELECT g.log_gain, g.model_id, g.prompt_id, m.family, g.layer
      FROM last_token_gain AS g
      JOIN primary_run USING (run_id)
      JOIN model AS m ON m.model_id = g.model_id
     WHERE g.layer > 0
"""


def measured_apart(directory):
    """Write the sample as two directories, as two institutions with six models each would."""
    models = sorted({path.stem.partition("@")[0] for path in (SAMPLE / "model").iterdir()})
    places = []
    for number, mine in enumerate((models[:6], models[6:])):
        places.append(directory / f"place{number}")
        for path in SAMPLE.rglob("*.parquet"):
            owner = path.stem.partition("@")[0]
            if owner in mine or owner not in models:
                target = places[-1] / path.relative_to(SAMPLE)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    return places


def collected(*directories, formula=FORMULA):
    relation = open_store(*directories).connection.sql(GAINS)
    return mixed.collect_statistics(formula, relation, constant=())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the cell sums of two directories, each written where it was measured."""
    directory = tmp_path_factory.mktemp("apart")
    written = []
    for place in measured_apart(directory):
        written.append(directory / f"{place.name}.parquet")
        mixed.write_statistics(collected(place), written[-1])
    return written


@pytest.fixture(scope="module")
def joint():
    return collected(SAMPLE)


def test_two_directories_collected_apart_give_the_sums_and_the_fit_of_one_store(files, joint):
    merged = mixed.merge_statistics([mixed.read_statistics(path) for path in files])
    assert merged.n_obs == joint.n_obs
    for name, factor in joint.factors.items():
        assert merged.factors[name].levels == factor.levels
        assert merged.factors[name].codes.tolist() == factor.codes.tolist()
    ours = shift_to(merged, joint.shift).sums
    size = np.abs(joint.sums).max(axis=1, keepdims=True)
    np.testing.assert_allclose(ours / size, joint.sums / size, rtol=0, atol=1e-12)
    whole = mixed.fit_statistics(FORMULA, joint)
    parts = [mixed.read_statistics(path) for path in files]
    apart = mixed.fit_statistics(FORMULA, mixed.merge_statistics(parts))
    assert apart.solution.criterion == pytest.approx(whole.solution.criterion, rel=1e-12)
    same = at_theta(apart, whole.solution.theta)
    np.testing.assert_allclose(same.coefficients, whole.coefficients, rtol=1e-12)
    np.testing.assert_allclose(apart.coefficients, whole.coefficients, rtol=1e-9)
    for df in ("kenward-roger", "satterthwaite"):
        ours, theirs = apart.tidy(["fixed"], df=df), whole.tidy(["fixed"], df=df)
        assert ours["term"].tolist() == theirs["term"].tolist()
        np.testing.assert_allclose(ours["std_error"], theirs["std_error"], rtol=1e-8)
        np.testing.assert_allclose(ours["df"], theirs["df"], rtol=1e-6)


def test_no_row_is_in_the_files_that_travel_and_one_place_alone_is_not_both(files, joint):
    for path in files:
        table = pq.read_table(path)
        assert table.num_rows == 6 * 25  # models times prompts, not their layers and tokens
        assert "log_gain" not in table.column_names
    alone = mixed.read_statistics(files[0])
    assert len(alone.factors["model_id"].levels) == 6
    assert alone.n_obs < joint.n_obs


def test_sums_of_another_formula_or_version_are_refused(files, tmp_path):
    other = tmp_path / "other.parquet"
    formula = "log_gain ~ layer + (1 | model_id)"
    mixed.write_statistics(collected(SAMPLE, formula=formula), other)
    with pytest.raises(DesignError, match="Statistics to merge must hold the same factors"):
        mixed.merge_statistics([mixed.read_statistics(path) for path in (files[0], other)])
    with pytest.raises(DesignError, match=r"must hold the factors \['prompt_id'\]; they hold"):
        mixed.fit_statistics(FORMULA.replace("family + ", ""), mixed.read_statistics(other))
    with pytest.raises(DesignError, match=r"must hold the product 'depth'; they do not"):
        mixed.fit_statistics("log_gain ~ depth + (1 | model_id)", mixed.read_statistics(other))
    with pytest.raises(DesignError, match=r"of the response 'gain'; they are of 'log_gain'"):
        mixed.fit_statistics("gain ~ layer + (1 | model_id)", mixed.read_statistics(other))
    with pytest.raises(DesignError, match="Statistics to merge must be given; found none"):
        mixed.merge_statistics([])
    table = pq.read_table(files[0])
    about = json.loads(table.schema.metadata[b"statistics"])
    newer = table.replace_schema_metadata({"statistics": json.dumps(about | {"version": 3})})
    pq.write_table(newer, tmp_path / "newer.parquet")
    with pytest.raises(StoreError, match="must hold statistics of version 2; it holds version 3"):
        mixed.read_statistics(tmp_path / "newer.parquet")


@pytest.fixture(scope="module")
def remote_rows(tmp_path_factory):
    """Return a directory of two Parquet files with columns that no model of theirs reads."""
    directory = tmp_path_factory.mktemp("served")
    rows = pd.read_csv(R / "mixed_data_crossed.csv")
    many = rows.sample(50_000, replace=True, random_state=5, ignore_index=True)
    noise = np.random.default_rng(6).normal(size=(len(many), 11))
    many["gain"] += noise[:, 10]
    wide = many.assign(**{f"unread{place}": noise[:, place] for place in range(10)})
    wide[:30_000].to_parquet(directory / "one.parquet", row_group_size=10_000)
    wide[30_000:].to_parquet(directory / "two.parquet", row_group_size=10_000)
    return directory


REMOTE = "gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model) + (1 | prompt)"


def same_bits(one, other):
    effects = ["fixed", "ran_pars", "ran_vals"]
    return (
        one.statistics.sums.tobytes() == other.statistics.sums.tobytes()
        and one.optimum.theta.tobytes() == other.optimum.theta.tobytes()
        and one.tidy(effects).equals(other.tidy(effects))
    )


def test_files_of_a_registered_file_system_give_the_local_bits(remote_rows):
    memory = fsspec.filesystem("memory")
    for path in sorted(remote_rows.iterdir()):
        memory.pipe_file(f"/rows/{path.name}", path.read_bytes())
    connection = duckdb.connect()
    connection.register_filesystem(memory)
    remote = mixed.fit(REMOTE, connection.read_parquet("memory://rows/*.parquet"))
    local = mixed.fit(REMOTE, str(remote_rows / "*.parquet"))
    assert same_bits(remote, local)
    augmented, expected = remote.augment(), local.augment()
    pd.testing.assert_frame_equal(augmented, expected)


class CountedFile(io.BytesIO):
    """A file in memory whose bytes are counted when they are read."""

    def read(self, size=-1):
        part = super().read(size)
        Counted.sent += len(part)
        return part


class Counted(MemoryFileSystem):
    """Files of which any range of bytes can be had, as from S3 or a web server."""

    protocol = "counted"
    sent = 0

    def _open(self, path, mode="rb", **options):
        return CountedFile(super()._open(path, mode, **options).getvalue())


def test_only_columns_that_are_read_travel(remote_rows):
    elsewhere = Counted()
    for path in remote_rows.iterdir():
        elsewhere.pipe_file(f"counted://{path.name}", path.read_bytes())
    connection = duckdb.connect()
    connection.register_filesystem(elsewhere)
    names = [f"counted://{name}.parquet" for name in ("one", "two")]
    remote = mixed.fit(REMOTE, connection.read_parquet(names))
    assert same_bits(remote, mixed.fit(REMOTE, str(remote_rows / "*.parquet")))
    whole = sum(path.stat().st_size for path in remote_rows.iterdir())
    assert 0 < Counted.sent < whole / 2
