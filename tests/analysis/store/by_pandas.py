"""Every table of schema main, made again with pandas from the files alone: no SQL, no view."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from collect import schema
from tests.analysis.places import ROOT

DATA = ROOT / "data"
SOURCES = tuple(DATA / name for name in ("published", "sample", "fleet", "public"))
#: Columns that name a row of each table.
KEYS = {name: [*columns] for name, columns in schema.KEYS.items()}
SET = "A_grand_unified"


@cache
def measured(table: str) -> pd.DataFrame:
    """Return the rows of a table in all measured files."""
    paths = sorted(path for part in SOURCES for path in (part / table).glob("*.parquet"))
    return pd.concat(map(pd.read_parquet, paths), ignore_index=True)


@cache
def written(table: str) -> pd.DataFrame:
    """Return the rows of a hand-made table of the paper."""
    return pd.read_csv(DATA / "published" / f"{table}.csv")


@cache
def runs(kind: str) -> pd.DataFrame:
    """Return the one run of each model (and prompt set) as released, plain, as tokenised."""
    rows = measured("run").drop_duplicates("run_id")
    rows = rows[(rows["kind"] == kind) & rows["is_conforming"]]
    if kind == "prompts":
        rows = rows[(rows["special_tokens"] == "default") & (rows["rendering"] == "plain")]
    assert not rows.duplicated(["model_id", "prompt_set"]).any()
    return rows[["run_id", "model_id", "prompt_set"]]


def of_runs(table: str, kind: str = "prompts") -> pd.DataFrame:
    """Return the rows of a measured table that are of these runs, with the prompt set."""
    return measured(table).merge(runs(kind), on=["run_id", "model_id"])


def of_prompts(table: str) -> pd.DataFrame:
    """Return the rows of a measured table on the one prompt set, of which every model has a run."""
    rows = of_runs(table)
    assert rows[rows["prompt_set"] == SET]["model_id"].nunique() == rows["model_id"].nunique()
    return rows[rows["prompt_set"] == SET]


@cache
def models() -> pd.DataFrame:
    """Return one row per model: of the files, or as published."""
    rows = pd.concat([measured("model"), written("model")]).drop_duplicates("model_id")
    has_figure = rows["model_id"].isin(written("published_figure")["model_id"])
    is_here = rows["lab"] == "thermoscope"
    rows = rows.assign(is_trained_here=is_here)
    return rows.assign(is_published=has_figure, head_density=rows["n_heads"] / rows["d_head"])


@cache
def stream() -> pd.DataFrame:
    """Return the table, whose first tokens stand beside the others."""
    rows = _stream()
    at = ["model_id", "prompt_id", "layer"]
    first = rows.loc[rows["position"] == 0, [*at, "length"]]
    first = first.rename(columns={"length": "first_length"})
    return rows[rows["position"] > 0].merge(first, on=at, how="left", validate="m:1")


@cache
def _stream() -> pd.DataFrame:
    rows = of_prompts("residual_norm")
    is_input = (rows["site"] == "block_input") & (rows["layer"] == 0)
    rows = rows[is_input | (rows["site"] == "block_output")]
    depth = rows["layer"].where(rows["site"] == "block_output", -1)
    rows = rows.assign(layer=depth, length=rows["norm"], length_centred=rows["norm_centred"])
    tokens = of_prompts("next_token")[["run_id", "prompt_id", "n_tokens"]]
    rows = rows.merge(tokens, on=["run_id", "prompt_id"])
    return rows.assign(is_last_token=rows["position"] == rows["n_tokens"] - 1)


PROMPT = ["model_id", "prompt_set", "prompt_id"]


def _gains(lengths: pd.DataFrame) -> pd.DataFrame:
    """Return ratios of neighbours of lengths, a row per prompt and a column per depth from -1."""
    ratios = lengths.to_numpy()[:, 1:] / lengths.to_numpy()[:, :-1]
    return pd.DataFrame(ratios, index=lengths.index, columns=lengths.columns[1:])


@cache
def block() -> pd.DataFrame:
    """Return the table, whose ratios are of no meaning for block 0."""
    rows = _block().copy()
    rows.loc[rows["layer"] == 0, [*rows.filter(regex="^gain|_ratio")]] = np.nan
    return rows


@cache
def _block() -> pd.DataFrame:
    rows = _stream()
    squares = rows.assign(square=rows["length"] ** 2)
    kinds = {
        "gain": rows[rows["is_last_token"]].rename(columns={"length": "value"}),
        "gain_centred": rows[rows["is_last_token"]].rename(columns={"length_centred": "value"}),
    }
    for name, some in (
        ("gain_whole_matrix", squares),
        ("gain_without_first", squares[squares["position"] > 0]),
    ):
        sums = some.groupby([*PROMPT, "layer"], as_index=False)["square"].sum()
        kinds[name] = sums.assign(value=np.sqrt(sums["square"]))
    parts = []
    for name, some in kinds.items():
        for _, of_model in some.groupby("model_id"):  # models differ in depth
            gains = _gains(of_model.pivot_table("value", PROMPT, "layer"))
            long = gains.melt(ignore_index=False).reset_index()
            parts.append(long.assign(kind=name))
    wide = pd.concat(parts).pivot_table("value", [*PROMPT, "layer"], "kind").reset_index()
    wide = wide.merge(_updates(), on=[*PROMPT, "layer"], how="left")
    geometry = of_prompts("token_geometry").query("site == 'block_output'")
    geometry = geometry.rename(columns={"mean_cosine_body": "token_cosine"})
    columns = ["token_cosine", "effective_rank"]
    return wide.merge(geometry[[*PROMPT, "layer", *columns]], on=[*PROMPT, "layer"], how="left")


def _updates() -> pd.DataFrame:
    before = _stream().assign(layer=_stream()["layer"] + 1)
    columns = ["run_id", "prompt_id", "position", "layer"]
    marks = ["length", "is_last_token", "is_special"]
    rows = of_prompts("residual_update").merge(before[[*columns, *marks]], on=columns)
    rows = rows[rows["part"].isin(["attention", "ffn"])]
    rows["ratio"] = rows["norm"].astype(float) / rows["length"]
    rows["cosine"] = rows["cosine"].astype(float)
    body = rows[(rows["position"] > 0) & ~rows["is_special"]]
    result = {}
    for part in ("attention", "ffn"):
        for suffix, some in (("", rows[rows["is_last_token"]]), ("_body", body)):
            means = some[some["part"] == part].groupby([*PROMPT, "layer"])
            result[f"{part}_ratio{suffix}"] = means["ratio"].mean()
            result[f"{part}_cosine{suffix}"] = means["cosine"].mean()
    return pd.DataFrame(result).reset_index()


@cache
def prompt_gain() -> pd.DataFrame:
    rows = _block().merge(models()[["model_id", "n_layers"]], on="model_id")
    after_first = rows[rows["layer"] > 0]
    logs = after_first.assign(log_gain=np.log(after_first["gain"])).groupby(PROMPT)
    last = rows[rows["layer"] == rows["n_layers"] - 1].set_index(PROMPT)
    result = pd.DataFrame(
        {
            "gain_last_block": last["gain"],
            "gain_penultimate_block": rows[rows["layer"] == rows["n_layers"] - 2].set_index(PROMPT)[
                "gain"
            ],
            "gain_body": np.exp(logs["log_gain"].mean()),
            "gain_maximum": logs["gain"].max(),
            "gain_embedding": rows[rows["layer"] == 0].set_index(PROMPT)["gain"],
            "gain_whole_matrix": last["gain_whole_matrix"],
            "gain_without_first": last["gain_without_first"],
            "growth_after_block_0": np.exp(logs["log_gain"].sum()),
        }
    ).reset_index()
    categories = measured("prompt").drop_duplicates("prompt_id")[["prompt_id", "category"]]
    tokens = of_prompts("next_token").rename(columns={"entropy": "next_token_entropy"})
    tokens = tokens[["model_id", "prompt_id", "n_tokens", "next_token_entropy"]]
    return result.merge(categories, on="prompt_id").merge(tokens, on=["model_id", "prompt_id"])


@cache
def model_gain() -> pd.DataFrame:
    rows = prompt_gain()
    gains = [name for name in rows if name.startswith(("gain_", "growth_"))]
    means = rows.groupby("model_id")[gains].mean().reset_index()
    return means.merge(models()[["model_id", "lab", "n_layers", "n_parameters"]], on="model_id")


@cache
def published_model() -> pd.DataFrame:
    rows = written("published_figure").sort_values(["n", "file"], ascending=[False, True])
    rows["prompt_set"] = rows["prompt_set"].fillna("")
    sizes = rows.groupby(["metric", "prompt_set"])["model_id"].nunique()
    leading = sizes.groupby("metric").idxmax()
    of_set = rows[
        [*zip(rows["metric"], rows["prompt_set"], strict=True)] == rows["metric"].map(leading)
    ]
    wide = of_set.drop_duplicates(["model_id", "metric"]).pivot_table("mean", "model_id", "metric")
    sweep = rows[rows["prompt_set"] == "B_pythia_sweep"]
    sweep = sweep.drop_duplicates(["model_id", "metric"]).pivot_table("mean", "model_id", "metric")
    wide = wide.join(sweep.filter(regex="^gain_").add_suffix("_pythia"))
    wide = wide.reindex(rows["model_id"].unique()).rename_axis("model_id").reset_index()
    wide = wide.rename(columns={"weight_spectral_v": "v_spectral"})
    gains = rows[rows["metric"].str.startswith("gain")].groupby("model_id")["file"].nunique()
    wide["n_gain_files"] = wide["model_id"].map(gains).fillna(0)
    described = ["model_id", "lab", "suite", "base_model_id", "n_layers", "n_parameters"]
    return wide.merge(models()[described], on="model_id")


@cache
def outlier_token() -> pd.DataFrame:
    rows = _stream().query("layer >= 0")
    median = rows.groupby([*PROMPT, "layer"])["length"].transform("median")
    rows = rows.assign(times_median=rows["length"] / median)
    rows = rows[rows["times_median"] > 10]
    tokens = rows.groupby([*PROMPT, "position"])
    most = tokens["times_median"].max().reset_index()
    return most.assign(
        n_layers_massive=tokens["layer"].nunique().to_numpy(),
        first_layer=tokens["layer"].min().to_numpy(),
    )


@cache
def attention() -> pd.DataFrame:
    rows = of_prompts("attention")
    even = {n: (1 / np.arange(2, n + 1)).sum() / (n - 1) for n in rows["n_tokens"].unique()}
    rows = rows.assign(
        entropy=rows["entropy"] / rows["n_tokens"],
        relative_entropy=rows["entropy"] / rows["n_tokens"] / np.log(rows["n_tokens"]),
        first_token_share=(rows["first_column"] - 1) / (rows["n_tokens"] - 1),
        first_token_share_if_even=rows["n_tokens"].map(even),
        self_share=rows["diagonal"] / rows["mass"],
        distance=rows["distance"] / rows["mass"],
        first_token_share_of_others=(rows["first_column"] - 1) / (rows["mass"] - rows["diagonal"]),
    )
    heads = rows.groupby(["model_id", "prompt_set", "layer", "head"])
    means = heads[[*rows.filter(regex="share|entropy|distance")]].mean()
    return means.assign(n_prompts=heads.size()).reset_index()


def _weights(table: str, keys: list[str]) -> pd.DataFrame:
    rows = of_runs(table, "weights")
    rows = rows[rows["slicing"] == "correct"]
    if "is_folded" in rows:
        rows = rows[~rows["is_folded"]]
    long = rows.rename(columns={"sigma_max": "spectral"})
    wide = long.pivot_table(["spectral", "frobenius"], keys, "matrix")
    wide.columns = [f"{matrix.lower()}_{kind}" for kind, matrix in wide.columns]
    return wide.reset_index()


@cache
def head_weight() -> pd.DataFrame:
    return _weights("weight_norm", ["model_id", "layer", "head"])


@cache
def layer_weight() -> pd.DataFrame:
    return _weights("matrix_norm", ["model_id", "layer"])


@cache
def network_step() -> pd.DataFrame:
    trained = measured("study_run").query("study == 'packages' and block == 'documented'")
    levels = measured("study_level").pivot_table("level", "study_run_id", "factor", aggfunc="first")
    levels = levels[["recipe", "geometry"]].rename(columns={"geometry": "shape"})
    rows = measured("study_response").query("tokens == 'without_first'")
    columns = ["study_run_id", "seed", "n_layers", "d_model", "n_steps", "learning_rate"]
    columns += ["trigram_loss", "family"]
    rows = rows.merge(trained[columns], on="study_run_id").merge(levels, on="study_run_id")
    rows["log_growth"] = rows["later_log_gain"]
    rows["log_growth_of_equal_writes"] = rows["equal_writes"]
    rows["log_growth_per_block"] = rows["log_growth"] / (rows["n_layers"] - 1)
    rows["excess_growth"] = rows["later_log_gain"] - rows["equal_writes"]
    return rows.rename(columns={"study_run_id": "network_id"})


@cache
def network() -> pd.DataFrame:
    rows = network_step()
    ends = rows[rows["step"] == rows["n_steps"]]
    reach = (ends["loss"] <= ends["trigram_loss"]).groupby(ends["recipe"]).transform("all")
    at = {name: _at_trigram(of_one) for name, of_one in rows.groupby("network_id")}
    for place, name in enumerate(("log_growth_at_equal_loss", "excess_growth_at_equal_loss")):
        values = ends["network_id"].map({one: both[place] for one, both in at.items()})
        ends = ends.assign(**{name: values.where(reach)})
    return ends


def _at_trigram(rows: pd.DataFrame) -> tuple[float, float]:
    """Return growth and excess where the loss first falls to the trigram's, linear in it."""
    rows = rows.sort_values("step").reset_index()
    below = rows.index[rows["loss"] <= rows["trigram_loss"]]
    if below.empty:
        return np.nan, np.nan
    pair = rows.iloc[[below[0], below[0] - 1]]
    goal, losses = pair["trigram_loss"].iloc[0], pair["loss"].to_numpy()
    growth, excess = (
        float(np.interp(goal, losses, pair[name].to_numpy()))
        for name in ("log_growth", "excess_growth")
    )
    return growth, excess


@cache
def claim() -> pd.DataFrame:
    rows = written("verdict").query("stated_by == 'author'")
    rows = rows.rename(columns={"family": "law", "p_value": "quoted_p_value"})
    checks = written("verdict_check").groupby("claim_id")
    return rows.assign(
        n_checks=rows["claim_id"].map(checks.size()),
        n_deciding=rows["claim_id"].map(checks["decides"].sum()),
    ).rename(columns={"check_id": "quoted_check"})


@cache
def coverage_by_set() -> pd.DataFrame:
    """Return a row per model, quantity and prompt set."""
    sets = measured("prompt")["prompt_set"].unique()
    asked = ["stream", "last token", "update", "attention", "geometry", "prediction"]
    cells = [
        (model_id, quantity, prompt_set)
        for model_id in models()["model_id"]
        for quantity, prompt_set in [
            *((quantity, name) for quantity in asked for name in sets),
            ("weight", "none"),
            ("published gain", "none"),
        ]
    ]
    rows = pd.DataFrame(cells, columns=["model_id", "quantity", "prompt_set"])
    figures = written("published_figure")
    gains = figures[figures["metric"].str.startswith("gain")]["model_id"]
    there = {(model_id, "published gain", "none"): 0 for model_id in gains}
    there |= {(one, "weight", "none"): 0 for one in of_runs("matrix_norm", "weights")["model_id"]}
    tables = ["residual_norm", "next_token", "residual_update", "attention", "token_geometry"]
    for quantity, table in zip(asked, [*tables, "token_prediction"], strict=True):
        sizes = of_runs(table).groupby(["model_id", "prompt_set"])["prompt_id"].nunique()
        there |= {(one, quantity, name): n for (one, name), n in sizes.items()}
    keys = list(rows.itertuples(index=False, name=None))
    rows["is_there"] = [key in there for key in keys]
    rows["n_prompts"] = [np.nan if key[2] == "none" else there.get(key, 0) for key in keys]
    return rows


@cache
def coverage() -> pd.DataFrame:
    """Return the table: cells of the one prompt set, of which every model has a run."""
    cells = coverage_by_set()
    there = cells[cells["is_there"] & (cells["prompt_set"] != "none")]
    sets = there.sort_values("prompt_set").groupby(["model_id", "quantity"])["prompt_set"]
    rows = cells[cells["prompt_set"].isin([SET, "none"])].drop(columns="prompt_set")
    return rows.merge(sets.agg(", ".join).rename("prompt_sets").reset_index(), how="left")


def frame(table: str) -> pd.DataFrame:
    """Return a table of schema main: its key, and columns that pandas gives as well."""
    if table == "model":
        measured_on = measured("run").groupby("model_id")["prompt_set"].nunique()
        n_sets = models()["model_id"].map(measured_on).fillna(0)
        return models().assign(n_prompt_sets=n_sets, is_measured=n_sets > 0)
    made: pd.DataFrame = globals()[table]()
    return made
