"""The single values of the raw files that decide a claim, kept in the repository as facts.

What single prompts and layers say cannot be had from means. These few values are shipped with the
hash of the file each stands in, so that a clone without the raw files comes to the same verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from collect.process.interruption import interruptible
from collect.published import importer
from collect.published.figures import all_present, write_csv
from collect.published.values import published_values

TABLE = "published_excerpt"

_UNIFIED = "thermodynamic_benchmark_20260105_141034.json"
_GPT2 = "gpt2_layernorm_validation_20260105_150306.json"
_GPTJ = "gptj_parallel_test_20260105_152333.json"


@dataclass(frozen=True, slots=True)
class Passage:
    """Values of one file that are kept.

    Attributes
    ----------
    file, metric
        Where they stand and what they are, as in table ``published_value``.
    claims
        The claims they decide, or in whose checks they are shown.
    statistics
        Which statistics are kept.
    layered
        Whether the values of single layers are meant, or those of whole models.
    path
        The one path that is kept; empty for all.
    """

    file: str
    metric: str
    claims: tuple[int, ...]
    statistics: tuple[str, ...] = ("value",)
    layered: bool = False
    path: str = ""


PASSAGES = (
    Passage(
        "pythia_family_NO_FINAL_LN_20260105_174820.json",
        "gain_penultimate_block",
        (28, 30, 56),
        ("value", "sd"),
    ),
    Passage("twin_test_results_20260105_160237.json", "gain_last_block", (19, 49)),
    *(
        Passage(file, metric, (60,))
        for file in (_UNIFIED, _GPT2, _GPTJ)
        for metric in ("gain_last_block", "output_entropy")
    ),
    Passage("restriction_maps_results.json", "weight_spectral_v", (33,), layered=True),
    Passage("H4_v2_extended_20260106_012606.json", "l_star_empirical", (38,)),
    Passage(
        "l_star_sign_change_20260106_111315.json",
        "l_star_error",
        (40,),
        ("other",),
        path="$.comparison_v2_argmax",
    ),
    Passage(
        "scaling_law_multi_pythia_results.json",
        "scaling_exponent",
        (61,),
        ("other",),
        path="$.scaling_law.exponent_alpha",
    ),
)


@interruptible()
def write_excerpt(source: Path, directory: Path) -> dict[str, int]:
    """Write ``published_excerpt.csv`` from the raw files; the same files give the same bytes.

    Returns
    -------
    Number of rows written, by table.
    """
    all_present(source)
    files = sorted({passage.file for passage in PASSAGES})
    hashes = importer.published_files(source, files).set_index("file")["sha256"]
    selected = excerpt(published_values(source, files))
    rows = selected.drop(columns="text").assign(sha256=selected["file"].map(hashes))
    return {TABLE: write_csv(TABLE, rows, directory)}


def excerpt(values: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of table ``published_value`` that are kept, with the claims they decide.

    Returns
    -------
    One row per kept value, in the order of ``values``: its columns and `claims`.
    """
    parts = [
        values[_is_excerpt(values, passage)].assign(claims=",".join(map(str, passage.claims)))
        for passage in PASSAGES
    ]
    return pd.concat(parts).sort_index()


def _is_excerpt(values: pd.DataFrame, passage: Passage) -> pd.Series[bool]:
    selected = (
        values["file"].eq(passage.file)
        & values["metric"].eq(passage.metric)
        & values["statistic"].isin(passage.statistics)
        & values["layer"].notna().eq(passage.layered)
    )
    return selected & values["path"].eq(passage.path) if passage.path else selected
