"""Sums are exact, the same bits every time, and add up across places and servers."""

import io
import json
import shutil

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import mixed
from analysis.mixed.reading.statistics import (
    merge_statistics,
    read_statistics,
    shift_to,
    write_statistics,
)
from analysis.store import open_store
from analysis.tidy.errors import ColumnError, DesignError, StoreError
from tests.analysis.places import ROOT, R

rows = pd.read_csv(R / "mixed_data_crossed.csv")
FORMULA = "gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model) + (1 | prompt)"


def unshifted(statistics):
    return shift_to(statistics, np.zeros_like(statistics.shift))


def test_four_counted_rows():
    four = pd.DataFrame({"y": [1.0, 2.0, 3.0, 6.0], "x": [0.0, 1.0, 1.0, 2.0], "g": list("aabb")})
    result = unshifted(mixed.collect_statistics("y ~ x + (1 | g)", four))
    assert result.basis == ((), ("x",))
    assert result.counts.tolist() == [2, 2]
    assert result.product(0, 1).tolist() == [1, 3]  # x: 0 + 1, 1 + 2
    assert result.product(1, 1).tolist() == [1, 5]
    assert result.product(0, 2).tolist() == [3, 9]  # y: 1 + 2, 3 + 6
    assert result.product(1, 2).tolist() == [2, 15]  # xy: 2, 3 + 12
    assert result.product(2, 2).tolist() == [5, 45]


def test_predictors_constant_in_every_cell_are_attached_without_sums():
    result = mixed.collect_statistics("gain ~ rho * depth + (1 | model)", rows)
    assert list(result.constants) == ["rho"]
    assert result.basis == ((), ("depth",))
    models = rows.groupby("model")["rho"].first()
    assert result.constants["rho"].tolist() == models.tolist()
    # The first 4096 rows show one value per group, later ones do not.
    many = pd.DataFrame({"g": np.tile(["a", "b"], 3000), "y": np.arange(6000.0) % 7})
    many["x"] = np.where(np.arange(6000) < 5000, many["g"] == "a", np.arange(6000) % 3)
    result = mixed.collect_statistics("y ~ x + (1 | g)", many)
    assert result.constants == {}
    assert result.basis == ((), ("x",))
    with pytest.raises(DesignError, match=r"\['depth'\] must be constant within every cell"):
        mixed.collect_statistics("gain ~ depth + (1 | model)", rows, constant=["depth"])


@pytest.mark.parametrize("constant", [None, ["rho", "half"]])
def test_a_value_missing_in_a_constant_predictor_is_named(constant):
    holes = rows.assign(half=rows["rho"] / 2, rho=[np.nan, *rows["rho"][1:]])
    holes["rho"] = holes["rho"].astype("Float64")
    formula = "gain ~ rho + half + (1 | model)"
    with pytest.raises(ColumnError, match=f"'rho' must be a finite number.*: 1 of {len(rows)}"):
        mixed.collect_statistics(formula, holes, constant=constant)


@pytest.mark.parametrize("formula", [FORMULA, "gain ~ rho * depth + (1 | lab / model)"])
def test_constants_and_varying_predictors_give_the_same_fit(formula):
    attached = mixed.fit(formula, rows)
    varying = mixed.fit_statistics(formula, mixed.collect_statistics(formula, rows, constant=()))
    assert attached.statistics.constants
    assert not varying.statistics.constants
    np.testing.assert_allclose(varying.coefficients, attached.coefficients, rtol=1e-9)
    assert varying.solution.criterion == pytest.approx(attached.solution.criterion, abs=1e-10)


@pytest.mark.slow
def test_twenty_runs_on_any_number_of_threads_give_the_same_bits(tmp_path):
    path = tmp_path / "rows.parquet"
    rng = np.random.default_rng(1)
    many = rows.sample(40_000, replace=True, random_state=2, ignore_index=True)
    # The range of log-normal values has its middle far from their mean: sums are made twice.
    many.assign(gain=many["gain"] + np.exp(3 * rng.normal(size=len(many)))).to_parquet(path)
    result = set()
    for run in range(20):
        connection = duckdb.connect(config={"threads": 1 + run % 3})
        relation = connection.read_parquet(str(path))
        model = mixed.fit("gain ~ rho + depth + (1 | model) + (1 | prompt)", relation)
        result.add((model.statistics.sums.tobytes(), model.tidy().to_numpy().astype(str).tobytes()))
    assert len(result) == 1


def test_sums_are_about_the_mean_where_the_middle_of_the_range_is_far_from_it():
    rng = np.random.default_rng(4)
    skew = rows.assign(gain=rows["gain"] + 1e-3 * np.exp(12 * rng.random(len(rows))))
    skew["heavy"] = np.where(np.arange(len(rows)) == 7, 1e6, rng.normal(size=len(rows)))
    result = mixed.collect_statistics("gain ~ heavy + depth + (1 | model)", skew)
    variables = [skew["depth"], skew["heavy"], skew["gain"]]
    assert result.basis == ((), ("depth",), ("heavy",))
    for place, values in enumerate(variables, start=1):
        assert abs(result.shift[place] - values.mean()) < 3 * values.std()
    assert result.shift[1] == (skew["depth"].min() + skew["depth"].max()) / 2
    assert result.shift[2] == pytest.approx(skew["heavy"].mean(), rel=1e-9)
    squares = ((skew["heavy"] - result.shift[2]) ** 2).sum()
    assert result.product(2, 2).sum() == pytest.approx(squares, rel=1e-14)
    heavy = rows.assign(gain=np.where(np.arange(len(rows)) == 7, 1e7, rows["gain"]))
    result = mixed.collect_statistics("gain ~ 1 + (1 | model)", heavy, weights="precision")
    mean = np.average(heavy["gain"], weights=heavy["precision"])
    assert result.shift[1] == pytest.approx(mean, rel=1e-9)


@settings(max_examples=15, deadline=None)
@given(share=st.floats(0.05, 0.95), seed=st.integers(0, 1000))
def test_statistics_of_two_halves_add_up_to_those_of_the_whole(share, seed):
    here = np.random.default_rng(seed).random(len(rows)) < share
    whole = mixed.collect_statistics(FORMULA, rows, constant=["rho"])
    halves = [
        mixed.collect_statistics(FORMULA, half, constant=["rho"])
        for half in (rows[here], rows[~here])
    ]
    together = merge_statistics(halves)
    assert together.factors["model"].levels == whole.factors["model"].levels
    for name in whole.factors:
        assert together.factors[name].codes.tolist() == whole.factors[name].codes.tolist()
    ours, theirs = shift_to(together, whole.shift), whole
    np.testing.assert_allclose(ours.sums, theirs.sums, rtol=0, atol=1e-12)


def test_what_is_written_is_read_back_bit_for_bit(tmp_path):
    result = mixed.collect_statistics(FORMULA, rows, weights="precision")
    write_statistics(result, tmp_path / "cells.parquet")
    again = read_statistics(tmp_path / "cells.parquet")
    assert again.sums.tobytes() == result.sums.tobytes()
    assert again.pairs == result.pairs
    assert again.shift.tobytes() == result.shift.tobytes()
    assert (again.basis, again.response, again.weighted) == (
        result.basis,
        result.response,
        result.weighted,
    )
    for name, factor in result.factors.items():
        assert again.factors[name].levels == factor.levels
        assert again.factors[name].codes.tolist() == factor.codes.tolist()
    rows.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(StoreError, match="must hold statistics of a mixed model"):
        read_statistics(tmp_path / "rows.parquet")


def test_a_frame_a_path_a_glob_and_a_relation_give_the_same_fit(tmp_path):
    for place, part in enumerate((rows[:200], rows[200:])):
        part.to_parquet(tmp_path / f"part{place}.parquet")
    rows.to_parquet(tmp_path / "whole.parquet")
    sources = [
        rows,
        tmp_path / "whole.parquet",
        str(tmp_path / "part*.parquet"),
        duckdb.connect().from_df(rows),
    ]
    tidied = [mixed.fit(FORMULA, source).tidy() for source in sources]
    for other in tidied[1:]:
        pd.testing.assert_frame_equal(other, tidied[0])


#: What the queries call weights, counts, variables, sums, constants, keys and trials.
OUR_NAMES = ("w", "n", "v0", "v1", "s0", "logs", "c0", "low0", "high0", "whole", "k1")


@pytest.mark.parametrize("name", OUR_NAMES)
def test_a_group_may_be_called_like_a_column_of_our_queries(name):
    # A group of numbers called w was once taken for the weights.
    data = rows.assign(unit=rows["model"].astype("category").cat.codes + 2)
    formula = "gain ~ rho + depth + (1 | unit) + (1 | lab)"
    plain = mixed.fit(formula, data, weights="precision")
    renamed = data.rename(columns={"unit": name})
    result = mixed.fit(formula.replace("unit", name), renamed, weights="precision")
    numbers = ["estimate", "std_error"]
    pd.testing.assert_frame_equal(
        result.tidy(df="wald")[numbers], plain.tidy(df="wald")[numbers], rtol=1e-6
    )


@pytest.mark.parametrize("name", ["trials", "successes", "others", "number0", "k1"])
def test_a_group_of_a_binary_response_may_be_called_like_a_count(name):
    data = rows.assign(high=(rows["gain"] > rows["gain"].median()).astype(int))
    plain = mixed.fit_binomial("high ~ depth + (1 | model)", data)
    renamed = data.rename(columns={"model": name})
    result = mixed.fit_binomial(f"high ~ depth + (1 | {name})", renamed)
    numbers = ["estimate", "std_error"]
    pd.testing.assert_frame_equal(result.tidy()[numbers], plain.tidy()[numbers], rtol=1e-6)


@pytest.mark.parametrize("side", ["Intercept", "depth:Intercept", "1 + (1 + Intercept | lab)"])
def test_a_predictor_is_not_called_like_the_constant(side):
    data = rows.rename(columns={"rho": "Intercept"})
    with pytest.raises(ColumnError, match="must not be called 'Intercept', which names the const"):
        mixed.fit(f"gain ~ {side} + (1 | model)", data)


SAMPLE = ROOT / "data/sample"

OF_SAMPLE = "log_gain ~ family + layer + (1 + layer | model_id) + (1 | prompt_id)"

GAINS = """
    SELECT g.log_gain, g.model_id, g.prompt_id, m.family, g.layer
      FROM last_token_gain AS g
      JOIN primary_run USING (run_id)
      JOIN raw.model AS m ON m.model_id = g.model_id
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


def collected(*directories, formula=OF_SAMPLE):
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
        mixed.fit_statistics(OF_SAMPLE.replace("family + ", ""), mixed.read_statistics(other))
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


def test_files_of_a_file_system_give_the_local_bits_and_send_only_columns_read(remote_rows):
    elsewhere = Counted()
    for path in remote_rows.iterdir():
        elsewhere.pipe_file(f"counted://{path.name}", path.read_bytes())
    connection = duckdb.connect()
    connection.register_filesystem(elsewhere)
    names = [f"counted://{name}.parquet" for name in ("one", "two")]
    remote = mixed.fit(REMOTE, connection.read_parquet(names))
    local = mixed.fit(REMOTE, str(remote_rows / "*.parquet"))
    assert same_bits(remote, local)
    assert 0 < Counted.sent < sum(path.stat().st_size for path in remote_rows.iterdir()) / 2
    pd.testing.assert_frame_equal(remote.augment(), local.augment())


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
