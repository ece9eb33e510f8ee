"""The report's numbers computed again by other means, from the files that are shipped alone.

Run as ``python -m tests.proofs.replication [SITE]``. Nothing of `analysis` or `collect` is imported
and none of their views is read: DuckDB reads Parquet and CSV, numpy and scipy compute. What the
report says is read from ``reports/study.csv`` and, where SITE holds its rendered pages
(``reports/paper``), from their sentences. Ends with 1 where a printed digit differs.
"""

from __future__ import annotations

import html
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, stats

from tests.proofs.replication_study import (
    DATA,
    RESPONSES,
    at_horizon,
    decomposed,
    labs,
    noncentrality,
    rows,
    statements,
)

STUDY = DATA.parent / "reports/study.csv"
HUNT = "high_rho_hunt"


def against_file() -> Iterator[tuple[str, str, str]]:
    said = pd.read_csv(STUDY).set_index(["claim_id", "condition"])
    for horizon in ("equal steps", "equal loss"):
        for number, found in statements(horizon):
            for name, value in found.items():
                told = float(said.loc[(number, horizon), name])
                yield f"{number}, {horizon}, {name}", f"{told:.6g}", f"{value:.6g}"


def published() -> pd.DataFrame:
    """One row per base model: its gain of the penultimate block, and of all inner blocks."""
    return rows(
        f"""
        WITH gains AS (
            SELECT * FROM '{DATA}/published/published_figure.csv'
             WHERE metric = 'gain_penultimate_block'
           QUALIFY row_number() OVER (PARTITION BY model_id ORDER BY n DESC, file) = 1),
        blocks AS (
            SELECT model_id, file, max(value) AS largest, avg(ln(value)) AS mean_log
              FROM '{DATA}/published/published_profile.csv'
             WHERE metric = 'gain_block' AND layer > 0 GROUP BY ALL)
        SELECT m.*, g.mean AS gain, ln(g.mean) AS log_gain, b.largest, b.mean_log
          FROM gains AS g JOIN '{DATA}/published/model.csv' AS m USING (model_id)
          JOIN blocks AS b USING (model_id, file)
         WHERE m.base_model_id IS NULL ORDER BY model_id
        """
    )


def hunted() -> pd.DataFrame:
    return rows(
        f"""SELECT m.model_id, m.lab, m.suite, f.mean AS gain
              FROM '{DATA}/published/published_figure.csv' AS f
              JOIN '{DATA}/published/model.csv' AS m USING (model_id)
             WHERE f.metric = 'gain_penultimate_block' AND f.file LIKE '{HUNT}%'"""
    )


def lab_p(models: pd.DataFrame) -> float:
    ours, dampens = models["lab"] == "EleutherAI", models["gain"] < 1
    return float(stats.fisher_exact(pd.crosstab(ours, dampens).to_numpy())[1])


def suite_p(models: pd.DataFrame) -> float:
    """p of the difference in dampening between suites, over all ways to name as many of them."""
    shares = (models["gain"] < 1).groupby([models["suite"], models["lab"]]).mean().reset_index()
    y, ours = shares["gain"].to_numpy(), (shares["lab"] == "EleutherAI").to_numpy()
    every = []
    for chosen in itertools.combinations(range(len(y)), int(ours.sum())):
        named = np.isin(np.arange(len(y)), chosen)
        every.append(abs(y[named].mean() - y[~named].mean()))
    found = abs(y[ours].mean() - y[~ours].mean())
    return float((np.array(every) >= found - 1e-12).mean())


def correlation(x: pd.Series, y: pd.Series) -> tuple[float, float, float]:
    r = float(np.corrcoef(x, y)[0, 1])
    ends = np.tanh(np.arctanh(r) + np.array([-1, 1]) * stats.norm.ppf(0.975) / np.sqrt(len(x) - 3))
    return r, float(ends[0]), float(ends[1])


def deviation(models: pd.DataFrame) -> list[float]:
    """Deviation among suites at equal depth by REML, and its profile, as a change of gain [%]."""
    x = np.column_stack([np.ones(len(models)), models["n_layers"] / 10])
    same = (models["suite"].to_numpy()[:, None] == models["suite"].to_numpy()).astype(float)
    y = models["log_gain"].to_numpy()

    def deviance(sd: float, log_sigma: float) -> float:
        covariance = sd**2 * same + np.exp(2 * log_sigma) * np.eye(len(y))
        root = np.linalg.cholesky(covariance)
        _, r = np.linalg.qr(np.linalg.solve(root, np.column_stack([x, y])))
        logs = np.log(abs(np.concatenate([np.diag(root), np.diag(r)[:2]])))
        return float(2 * logs.sum() + r[2, 2] ** 2)

    def least(sd: float) -> float:
        found = optimize.minimize_scalar(
            lambda s: deviance(sd, s), bounds=(-6, 0), method="bounded"
        )
        return float(found.fun)

    best = float(optimize.minimize_scalar(least, bounds=(0, 1), method="bounded").x)

    def rise(sd: float) -> float:
        return least(sd) - least(best) - float(stats.chi2.ppf(0.95, 1))

    low = optimize.brentq(rise, 0, best) if rise(0) > 0 else 0.0
    return [100 * float(np.expm1(sd)) for sd in (best, low, optimize.brentq(rise, best, 2))]


def signs_kept() -> tuple[int, int, int]:
    """Of gains measured here under LayerNorm: same sign without the mean, all, and below 1."""
    gains = rows(
        f"""
        WITH places AS (
            SELECT DISTINCT r.*, max(position) OVER (PARTITION BY run_id, prompt_id) AS final
              FROM '{DATA}/sample/residual_norm/*.parquet' AS r
             WHERE (site = 'block_output' OR site = 'block_input' AND layer = 0)
               AND model_id IN (SELECT model_id FROM '{DATA}/sample/model/*.parquet'
                                 WHERE norm_kind = 'LayerNorm'))
        SELECT norm / lag(norm) OVER block AS raw,
               norm_centred / lag(norm_centred) OVER block AS bare
          FROM places WHERE position = final
        WINDOW block AS (PARTITION BY run_id, prompt_id ORDER BY layer, site)
        """
    ).dropna()
    same = (gains["raw"] < 1) == (gains["bare"] < 1)
    return int(same.sum()), len(gains), int((gains["raw"] < 1).sum())


def of_figure(metric: str, file: str = "%") -> pd.Series:
    """The published mean of each model, by its name."""
    found = rows(
        f"""SELECT model_id, mean FROM '{DATA}/published/published_figure.csv'
             WHERE metric = '{metric}' AND file LIKE '{file}%'"""
    )
    return found.set_index("model_id")["mean"]


def of_models(models: pd.DataFrame, hunt: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the report says of the paper's models: a pattern of its words, and what is found."""
    free = models[models["norm_position"] != "post"]
    pythia = free[free["suite"] == "Pythia"]
    bound = 10 ** (1 / free["n_layers"])
    yield r"(\d+) of 22 models exceed its bound", (f"{(free['largest'] > bound).sum()}",)
    yield (
        r"penultimate block, which the paper plots, (\d+) of 22",
        (f"{(free['gain'] > bound).sum()}",),
    )
    yield (
        r"(\d+) of 8 Pythia models shrink the stream in the paper’s block, (\d+) over inner",
        (f"{(pythia['gain'] < 1).sum()}", f"{(pythia['mean_log'] < 0).sum()}"),
    )
    yield r"Its own file gives p = ([\d.]+) with models", (f"{lab_p(hunt):.3f}",)
    yield r"Suites \(shared recipes\) as units: p = ([\d.]+)", (f"{suite_p(hunt):.2f}",)
    yield r"set aside, and p = ([\d.]+) on all base", (f"{lab_p(models):.3f}",)
    yield r"near 1 by construction, it gives p = ([\d.]+)", (f"{lab_p(free):.3f}",)
    yield (
        r"by about (\d+) % \((\d+) % to (\d+) %\)",
        tuple(f"{value:.0f}" for value in deviation(free)),
    )
    without = deviation(free[free["suite"] != "GPT-Neo"])
    yield r"GPT-Neo \(without it (\d+) %\)", (f"{without[0]:.0f}",)
    depth = correlation(pythia["n_layers"], pythia["gain"])
    yield r"gain we find r = (\S+) \[(\S+), (\S+)\]", tuple(f"{value:.2f}" for value in depth)
    density = correlation(pythia["n_heads"] / pythia["d_head"], pythia["gain"])
    yield r"with gain at r = (\S+) \[(\S+), (\S+)\]", tuple(f"{value:.2f}" for value in density)
    dense = models.set_index("model_id").eval("n_heads / d_head >= 0.2")
    scores = []
    for metric in ("gain_with_final_norm", "gain_penultimate_block"):
        gains = of_figure(metric, HUNT)
        scores.append(f"{((gains < 1) == dense.reindex(gains.index)).sum()}")
    yield r"right for (\d+) of 16 models with the final norm, (\d+) of 16", tuple(scores)
    norms = of_figure("weight_spectral_v", "restriction_map_summary")
    by_lab = norms.groupby(norms.index.str.partition("/").get_level_values(0)).mean()
    yield r"differ by a factor of ([\d.]+)", (f"{by_lab['EleutherAI'] / by_lab['facebook']:.1f}",)
    trace = of_figure("trace_multi_head")
    ratio = trace["openai-community/gpt2"] / trace["facebook/opt-125m"]
    yield r"GPT-2’s mean trace is ([\d.]+) times", (f"{ratio:.1f}",)
    tuned = of_figure("gain_last_block", "twin_test")
    before, after = tuned["google/gemma-7b"], tuned["google/gemma-7b-it"]
    yield (
        r"change is ([\d.]+) % \(([\d.]+) before, ([\d.]+) after\)",
        (f"{100 * (before - after) / before:.1f}", f"{before:.2f}", f"{after:.2f}"),
    )


def of_networks() -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the report says of networks trained for it."""
    yield (
        r"in ([\d,]+) of ([\d,]+) pairs of prompt and block, (\d+) of which",
        tuple(f"{value:,}" for value in signs_kept()),
    )
    every = at_horizon("equal steps")
    fleet = every[(every["study"] == "packages") & (every["block"] == "documented")]
    share = decomposed(fleet, "recipe", "geometry", "excess")["row"]
    yield (
        r"[Tt]he recipe makes (\d+) % \[(\d+) %, (\d+) %\]",
        tuple(f"{100 * value:.0f}" for value in share),
    )
    apart = fleet.groupby("cell")["excess"].agg(np.ptp).sort_values()
    yield (
        r"seed alone lie ([\d.]+) nat apart .*? hold (\d+) % of its variance",
        (f"{apart.mean():.3f}", f"{100 * (apart[-2:] ** 2).sum() / (apart**2).sum():.0f}"),
    )
    lab, chance, p = labs(fleet)
    yield (
        r"networks (\d+) % of the differences between recipes .*? put (\d+) % \(p = ([\d.]+)\)",
        (f"{100 * lab:.0f}", f"{100 * chance:.0f}", f"{p:.3f}"),
    )
    late = at_horizon("equal loss")
    late = late[(late["study"] == "packages") & (late["block"] == "documented")]
    parts = decomposed(late, "recipe", "geometry", "excess")
    yield (
        r"equal loss \((\d+) of 8 recipes\): (\d+) % \[(\d+) %, (\d+) %\]",
        (f"{parts['whole'][0]:.0f}", *(f"{100 * value:.0f}" for value in parts["row"])),
    )
    yield from of_trained_on(every[every["study"] == "inheritance"])
    alike = every[(every["geometry"] == "l3d64") & (every["heads"] == "w16")]
    alike = alike[(alike["study"] == "packages") & (alike["text"] == "kjv")]
    means = alike.groupby("recipe")[[*RESPONSES, "loss"]].mean()
    ranks = means.corr("spearman").loc[RESPONSES, "loss"]
    yield (
        r"Rank correlations (\S+) to (\S+) among (\d+) recipes",
        (f"{ranks.min():.2f}", f"{ranks.max():.2f}", f"{len(means)}"),
    )


def of_trained_on(networks: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the report says of networks that were trained on, and of their parents."""
    parents = networks[networks["parent_id"].isna()].set_index("study_run_id")
    children = networks[networks["parent_id"].notna() & (networks["upbringing"] != "as_muon")]
    for response, words in (
        ("excess", "growth beyond equal writes"),
        ("last_log_gain", "the gain"),
    ):
        before = children["parent_id"].map(parents[response])
        others = children["upbringing"] != "as_" + children["birth"]
        turned = (children[response] * before < 0)[others]
        cells = turned.groupby([children["birth"], children["upbringing"]])
        yield (
            rf"(\d+) of (\d+) cases for {words}.*?\(with one seed at least in (\d+)\)",
            (f"{cells.all().sum()}", f"{cells.ngroups}", f"{cells.any().sum()}"),
        )
    means = children.groupby(["birth", "seed"])["excess"].mean().unstack()  # noqa: PD010
    between = means.shape[1] * ((means.mean(axis=1) - means.to_numpy().mean()) ** 2).sum()
    df, rest, n = len(means) - 1, len(means) * (means.shape[1] - 1), means.size
    error = means.var(axis=1).mean()
    share = (between - df * error) / (between - df * error + n * error)
    low, high = noncentrality(between / df / error, df, rest, 0.95)
    yield (
        r"Between the (\d+) parents, .*? birth makes (\d+) % \[(\d+) %, (\d+) %\]",
        (f"{n}", *(f"{100 * value:.0f}" for value in (share, low / (low + n), high / (high + n)))),
    )


def words_of(page: Path) -> str:
    text = re.sub(r"<(script|style|svg|pre)\b.*?</\1>", "", page.read_text("utf-8"), flags=re.S)
    text = html.unescape(re.sub(r"<[^>]+>", "", text))
    return " ".join(text.replace("−", "-").split())


def against_pages(site: Path) -> Iterator[tuple[str, str, str]]:
    text = " ".join(words_of(site / name) for name in ("index.html", "paper.html", "study.html"))
    for pattern, found in itertools.chain(of_models(published(), hunted()), of_networks()):
        said = re.search(pattern, text)
        yield pattern, " ".join(said.groups()) if said else "not said", " ".join(found)


def main(arguments: Sequence[str]) -> int:
    compared = list(against_file())
    for site in arguments[:1]:
        compared += against_pages(Path(site))
    width = max(len(name) for name, *_ in compared)
    print(f"{'':{width}}  {'report says':>24}  {'computed here':>24}")
    for name, said, found in compared:
        differs = "" if said == found else "  differs"
        print(f"{name:{width}}  {said:>24}  {found:>24}{differs}")
    differing = sum(said != found for _, said, found in compared)
    print(f"{differing} of {len(compared)} differ.")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
