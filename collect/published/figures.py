"""Model-level figures and profiles over depth, drawn from the published values.

These are the facts the audit works with, small enough to keep in the repository: every one
names its file, the path in it and the defects that touch it. Standard deviations have the
divisor n - 1: they are computed from the measurements where a file holds them, and
converted where it holds only the one with divisor n.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from collect.errors import InputError
from collect.process.interruption import interruptible
from collect.prompts import sets as prompts
from collect.published import catalogue, importer
from collect.published.values import published_values
from collect.record import writer
from collect.record.atomic.files import write_atomically

#: Metrics that have one number per model in a file.
FIGURES = (
    "gain_last_block",
    "gain_penultimate_block",
    "gain_penultimate_block_stated",
    "gain_with_final_norm",
    "gain_whole_matrix",
    "gain_embedding",
    "total_amplification",
    "output_entropy",
    "weight_spectral_v",
    "weight_spectral_o",
    "weight_frobenius_v",
    "trace_multi_head",
    "trace_first_head",
    "l_star_empirical",
    "l_star_predicted",
)

#: Metrics that have one number per model and layer.
PROFILES = (
    "gain_block",
    "gain_block_whole_matrix",
    "gain_sublayer_attention",
    "gain_sublayer_ffn",
    "trace_multi_head",
    "trace_first_head",
)

#: Its numbers are bytes of packed four-bit weights (caveat B10), so no figure comes from it.
WITHOUT_FIGURES = ("H4_v2_extended_20260106_012606.json",)

_STEP = re.compile(r"\.\w+|\['(?:[^'\\]|\\.)*'\]|\[\d+\]")


@interruptible()
def write_figures(source: Path, figures: Path) -> dict[str, int]:
    """Write ``published_figure.csv`` and ``published_profile.csv`` from the raw files.

    The same files give the same bytes: rows are sorted by key and floats written so that
    they read back exactly.

    Returns
    -------
    Number of rows written, by table.
    """
    values = drawn_values(source)
    tables = {
        "published_figure": published_figures(values),
        "published_profile": published_profiles(values),
    }
    return {table: write_csv(table, rows, figures) for table, rows in tables.items()}


def drawn_values(source: Path) -> pd.DataFrame:
    """Return the published values figures are drawn from: about a model, each file once."""
    names = all_present(source)
    once = [
        name
        for name in names
        if name not in WITHOUT_FIGURES and not catalogue.files()[name]["duplicates"]
    ]
    values = published_values(source, once)
    numbers = values.assign(value=values["value"].astype("float64"))
    about_a_model = numbers[numbers["model_id"].notna() & numbers["value"].notna()]
    return about_a_model.fillna({"prompt_set": "none", "dtype": "none"})


def all_present(source: Path) -> list[str]:
    """Return the names of all published files, sorted."""
    names = importer.present(source)
    missing = sorted(set(catalogue.files()) - set(names))
    if missing:
        raise InputError(
            f"Figures need all {len(catalogue.files())} published files; {source} lacks "
            f"{len(missing)}, for example {missing[0]}.",
            "Fetch the published files again.",
        )
    return names


def published_figures(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model, metric and file: the columns of table ``published_figure``."""
    from_embedding = values[(values["metric"] == "gain_block") & (values["layer"] == 0)]
    renamed = from_embedding.assign(metric="gain_embedding").drop(columns="layer")
    gains = values[values["metric"] == "gain_penultimate_block"]
    measured = set(gains.loc[gains["prompt_id"].notna(), "file"])
    stated = gains[(gains["statistic"] == "mean") & gains["file"].isin(measured)]
    candidates = pd.concat([values, renamed, stated.assign(metric="gain_penultimate_block_stated")])
    wanted = candidates[candidates["metric"].isin(FIGURES)]
    keys = ["model_id", "metric", "prompt_set", "dtype", "file"]
    figures = [
        dict(zip(keys, key, strict=True)) | figure
        for key, rows in wanted.groupby(keys)
        if (figure := _figure(rows)) is not None
    ]
    return pd.DataFrame(figures)


def _figure(rows: pd.DataFrame) -> dict[str, object] | None:
    """Return the figure of one model, metric and file: of prompts, of layers, or as stored."""
    of_model = rows[rows["layer"].isna()]
    of_prompts = of_model[of_model["prompt_id"].notna() & (of_model["statistic"] == "value")]
    if len(of_prompts):
        return _summary(of_prompts)
    of_layers = rows[rows["layer"].notna()]
    if str(rows.iloc[0]["metric"]).startswith(("weight_", "trace_")) and len(of_layers):
        return _summary(of_layers)
    means = of_model[of_model["statistic"].isin(["mean", "value"])]
    if not len(means):
        return None
    spreads = of_model.loc[of_model["statistic"] == "sd", "value"].tolist()
    mean = means.iloc[0]
    n = _n_summarised(mean)
    sd = spreads[0] * math.sqrt(n / (n - 1)) if spreads else None
    return {"mean": mean["value"], "sd": sd, "n": n, **mean[["path", "unit", "caveats"]]}


def _summary(rows: pd.DataFrame) -> dict[str, object]:
    numbers = rows["value"].tolist()
    return {
        "path": common_path(rows["path"].tolist()),
        "mean": math.fsum(numbers) / len(numbers),
        "sd": statistics.stdev(numbers) if len(numbers) > 1 else None,
        "n": len(numbers),
        **rows.iloc[0][["unit", "caveats"]],
    }


def _n_summarised(mean: pd.Series[Any]) -> int:
    """Return over how many measurements a stored mean was taken."""
    if mean["statistic"] == "value":
        return 1
    if mean["metric"].startswith("weight_"):
        return catalogue.n_layers()[mean["model_id"]]
    return len(prompts.load(mean["prompt_set"]).prompts)


def published_profiles(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model, metric, file and layer: the columns of ``published_profile``.

    A profile that a file holds prompt by prompt is left out: its rows are no single profile.
    """
    of_layers = values[values["layer"].notna() & values["metric"].isin(PROFILES)]
    key = ["model_id", "metric", "prompt_set", "dtype", "file", "layer"]
    prompt_by_prompt = of_layers.duplicated(key, keep=False)
    return of_layers.loc[~prompt_by_prompt, [*key, "value", "unit", "caveats"]]


def common_path(paths: Sequence[str]) -> str:
    """Return the path that covers all, with ``[*]`` for the steps in which they differ.

    >>> common_path(["$.rows[0].gain", "$.rows[1].gain"])
    '$.rows[*].gain'
    """
    steps = zip(*(_STEP.findall(path) for path in paths), strict=True)
    return "$" + "".join(step[0] if len(set(step)) == 1 else "[*]" for step in steps)


def write_csv(table: str, rows: pd.DataFrame, directory: Path) -> int:
    """Write the rows of a table as CSV, sorted by key, and return their number."""
    whole = {pa.int32(): pd.Int32Dtype()}
    ordered = writer.conforming(table, rows).to_pandas(types_mapper=whole.get)

    def write(temporary: Path) -> None:
        ordered.to_csv(temporary, index=False, lineterminator="\n")

    write_atomically(directory / f"{table}.csv", write)
    return len(ordered)
