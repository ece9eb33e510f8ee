"""Every answer that is printed is right: *Ask in SQL*, and what README and the R script show.

The answers of the page are computed a second way, with pandas from the files.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.store import open_store
from analysis.store.notes import cautions
from analysis.store.sources import shipped_sources
from analysis.store.statement import read_tables
from tests.analysis.places import ROOT
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import DATA

PAGE = (ROOT / "quarto/sections/_ask.qmd").read_text(encoding="utf-8")
ASKED = dict(
    re.findall(r'## ([^{]*?) \{\.unnumbered\}.*?answer\("""\n(.*?)\n"""\)', PAGE, flags=re.DOTALL)
)


@pytest.fixture(scope="module")
def store():
    return open_store(*shipped_sources())


def frame(name):
    """Return a table without the networks of the sample, which are opened by name."""
    rows = by_pandas.frame(name)
    return rows if "model_id" not in rows else rows[~_is_own(rows)]


def _is_own(rows):
    return rows["model_id"].str.startswith("thermoscope/")


def _interval(groups, column):
    """Return size, mean and Student's interval of each group, in that order."""
    rows = []
    for label, values in groups[column]:
        half = (
            stats.t.ppf(0.975, len(values) - 1) * stats.sem(values) if len(values) > 1 else np.nan
        )
        mean = values.mean()
        rows.append((label, len(values), mean, mean - half, mean + half))
    return sorted(rows, key=lambda row: row[2])


def pythia():
    rows = frame("published_model").query("suite == 'Pythia'")
    r = np.corrcoef(rows["n_layers"], rows["gain_penultimate_block_pythia"])[0, 1]
    return [(r, len(rows))]


def labs():
    rows = frame("published_model")
    rows = rows[rows["base_model_id"].isna() & rows["gain_penultimate_block"].notna()]
    return _interval(rows.groupby("lab"), "gain_penultimate_block")


def size():
    rows = frame("published_model").dropna(subset="gain_penultimate_block")
    r = stats.spearmanr(rows["n_parameters"], rows["gain_penultimate_block"]).statistic
    return [(r, len(rows))]


def public_gains():
    return sorted(_interval(frame("prompt_gain").groupby("model_id"), "gain_last_block"))


def recipes():
    rows = (
        frame("network")
        .groupby("recipe")
        .agg(
            n=("log_growth", "size"),
            growth=("log_growth", "mean"),
            excess=("excess_growth", "mean"),
        )
        .sort_values("excess")
    )
    return list(rows.itertuples(name=None))


def at_equal_loss():
    rows = frame("network").dropna(subset="excess_growth_at_equal_loss").groupby("recipe")
    columns = ["excess_growth", "excess_growth_at_equal_loss"]
    rows = rows[columns].mean().assign(n=rows.size()).sort_values(columns[1])
    return list(rows[["n", *columns]].itertuples(name=None))


def steps():
    means = frame("network_step").pivot_table("log_growth", "recipe", "step")
    return list(means[[0, 100, 1200]].sort_values(1200).itertuples(name=None))


def central():
    rows = by_pandas.written("verdict").query("is_central").sort_values("claim_id")
    columns = ["claim_id", "verdict", "check_id", "p_value"]
    return list(rows[columns].itertuples(index=False, name=None))


def one_model():
    rows = frame("published_model").query("model_id == 'EleutherAI/pythia-6.9b'")
    names = ["penultimate_block", "last_block", "with_final_norm", "embedding"]
    return [tuple(rows[f"gain_{name}"].item() for name in names)]


def sides():
    rows = frame("model_gain").sort_values("model_id")
    names = [f"gain_{it}" for it in ("last_block", "penultimate_block", "body", "whole_matrix")]
    rows = rows[(rows[names].min(axis=1) < 1) & (rows[names].max(axis=1) > 1)]
    return list(rows[["model_id", *names]].itertuples(index=False, name=None))


def largest_block():
    rows = frame("block").query("layer > 0").groupby(["model_id", "layer"])["gain"].mean()
    best = rows.loc[rows.groupby("model_id").idxmax()].sort_values(ascending=False)
    return [(model_id, layer, gain) for (model_id, layer), gain in best.items()]


def parts():
    names = ["attention_cosine_body", "ffn_cosine_body"]
    means = frame("block").query("layer > 0").groupby("model_id")[names].mean()
    return list(means.sort_values(names[0]).itertuples(name=None))


def outliers():
    rows = frame("outlier_token").groupby("model_id")
    return [
        (name, len(it), it["prompt_id"].nunique(), int((it["position"] == 0).sum()),
         np.round(it["times_median"].median()))
        for name, it in rows
    ]  # fmt: skip


def leaving():
    rows = frame("attention")
    rows = rows.assign(to_others=1 - rows["self_share"])
    names = ["to_others", "first_token_share_of_others"]
    means = rows.groupby("model_id")[names].mean().sort_values(names[1], ascending=False)
    return list(means.itertuples(name=None))


def largest_value():
    rows = frame("layer_weight")
    best = rows.loc[rows.groupby("model_id")["v_spectral"].idxmax()].set_index("model_id")
    models = rows.groupby("model_id")
    over = best["v_spectral"] / models["v_spectral"].median()
    n_layers = models["layer"].max() + 1
    return list(zip(over.index, best["layer"], n_layers, over, strict=True))


def writes():
    found = []
    for name, rows in frame("head_weight").groupby("model_id"):
        r = np.corrcoef(np.log(rows["v_spectral"]), np.log(rows["ov_spectral"]))[0, 1]
        found.append((name, len(rows), r))
    return sorted(found, key=lambda row: -row[2])


def alike():
    rows = frame("block").merge(by_pandas.models()[["model_id", "n_layers"]], on="model_id")
    first = rows[rows["layer"] == 0].groupby("model_id")["token_cosine"].mean()
    last = rows[rows["layer"] == rows["n_layers"] - 2].groupby("model_id")["token_cosine"].mean()
    both = pd.DataFrame({"first": first, "last": last}).sort_values("last", ascending=False)
    return list(both.itertuples(name=None))


def files():
    rows = frame("published_model").query("n_gain_files > 3")
    rows = rows.sort_values(["n_gain_files", "model_id"], ascending=[False, True])
    return list(rows[["model_id", "n_gain_files"]].itertuples(index=False, name=None))


def missing():
    rows = frame("coverage")
    rows = rows[rows["model_id"].str.startswith("local/") & ~rows["is_there"]]
    return sorted(rows.groupby("quantity")["model_id"].nunique().items())


ANSWERS = {
    "Do deeper Pythia models have smaller gains?": pythia,
    "What is the mean published gain of each lab's models?": labs,
    "Is the gain related to the number of parameters?": size,
    "How large is each public model's gain, and how sure is the mean over prompts?": public_gains,
    "How much does the stream of a trained network grow, by recipe?": recipes,
    "Do recipes still differ where their networks have the same loss?": at_equal_loss,
    "How does the growth change with training?": steps,
    "Which central claims hold, and at which p?": central,
    "What does each published definition of gain say of one model?": one_model,
    "Which models change sides with the definition, on the same prompts?": sides,
    "In which block does each model's stream grow most, after block 0?": largest_block,
    "Do attention and feed-forward write along the stream or against it?": parts,
    "Which tokens are far longer than the others of their prompt?": outliers,
    "Where does attention go when it leaves the token itself?": leaving,
    "In which block does each model have its largest W_V?": largest_value,
    "Does the norm of W_V tell how much a head can write?": writes,
    "Do tokens grow alike over depth?": alike,
    "How often does a model have a published gain in several files?": files,
    "What is missing of the public models, and why?": missing,
}


#: What a note beside an answer names, which the page says in its own words.
NOTED = {
    "What is the mean published gain of each lab's models?": [
        ("StabilityAI", "TII"),
        ("7 models", "gain_penultimate_block_pythia"),
        ("5 models of 3 suites", "not independent"),
    ],
    "Is the gain related to the number of parameters?": [
        ("7 models", "gain_penultimate_block_pythia"),
        ("16 models of 7 suites", "not independent"),
    ],
    "Where does attention go when it leaves the token itself?": [
        ("attention lacks 1 of 4", "qwen2.5-coder-1.5b")
    ],
}


def test_every_question_of_the_page_has_an_answer_of_its_own():
    assert list(ASKED) == list(ANSWERS)


@pytest.mark.parametrize("question", ASKED)
def test_the_answer_that_the_page_prints_is_what_pandas_finds(store, question):
    sql = ASKED[question]
    rows = store.query(sql)
    with store.cursor() as cursor:
        assert not any(name.startswith("raw.") for name in read_tables(sql, cursor))
    notes = cautions(store, sql)
    assert len(notes) == len(NOTED.get(question, ()))
    for note, words in zip(notes, NOTED.get(question, ()), strict=True):
        assert all(word in note for word in words)
    if question.startswith("What is missing"):
        assert rows["reason"].notna().all()
        rows = rows.drop(columns="reason")
    expected = ANSWERS[question]()
    decimals = [int(it) for it in re.findall(r", (\d)\)", sql)]
    tolerance = 0.5 * 10.0 ** -min(decimals or [6]) + 1e-9
    assert len(rows) == len(expected)
    for row, other in zip(rows.itertuples(index=False, name=None), expected, strict=True):
        for one, two in zip(row, other, strict=True):
            if isinstance(two, str):
                assert one == two
            else:
                assert one == pytest.approx(two, abs=tolerance, nan_ok=True)


def test_what_the_page_says_of_its_answers_is_so(store):
    by_recipe = store.query(ASKED["How much does the stream of a trained network grow, by recipe?"])
    assert by_recipe["recipe"].iloc[[0, -1]].tolist() == ["bloom", "olmo2"]
    assert by_recipe["recipe"][by_recipe["log_growth"] < 0].tolist() == ["bloom"]
    assert (by_recipe["excess_growth"] < 0).sum() > len(by_recipe) / 2
    asked = "Do recipes still differ where their networks have the same loss?"
    at_loss = store.query(ASKED[asked])
    assert at_loss["n_networks"].tolist() == [8] * 4
    assert at_loss["at_equal_steps"].is_monotonic_increasing
    assert at_loss["at_equal_loss"].is_monotonic_increasing
    by_step = store.query(ASKED["How does the growth change with training?"])
    assert (by_step["at_end"] < by_step["at_start"]).mean() > 0.5
    assert (by_step["at_end"] > by_step["at_start"]).any()
    assert (by_step["after_100_steps"] > by_step["at_start"]).all()
    found = store.query(ASKED["Which tokens are far longer than the others of their prompt?"])
    assert len(found) == 4
    assert (found["n_prompts"] == found["first_tokens"]).all()
    others = found["model_id"][found["n_tokens"] > found["first_tokens"]]
    assert others.str.contains("gemma").tolist() == [True]
    asked = "Do attention and feed-forward write along the stream or against it?"
    means = store.query(ASKED[asked])
    assert (means[["attention", "feed_forward"]] > 0).all(axis=None)
    assert "gemma" in means["model_id"].iloc[-1]
    leaving = store.query(ASKED["Where does attention go when it leaves the token itself?"])
    assert (leaving["of_it_to_first_token"] > 0.5).all()
    r = store.query(ASKED["Does the norm of W_V tell how much a head can write?"])
    assert (r["r"].iloc[:-1] > 0.85).all()
    assert "gemma" in r["model_id"].iloc[-1]
    assert r["r"].iloc[-1] < 0.5
    values = store.query(ASKED["In which block does each model have its largest W_V?"])
    assert (values["layer"] >= values["n_layers"] * 2 / 3).all()
    pythia = store.query(ASKED["Do deeper Pythia models have smaller gains?"])
    assert pythia["r"].item() < -0.5
    alike = store.query(ASKED["Do tokens grow alike over depth?"]).dropna()
    assert (alike["penultimate_block"] > alike["first_block"]).all()


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_gains_of_the_model_that_readme_measures_are_those_of_its_file():
    block = r'--data runs sql "(SELECT .*?)"\n```\n\n```\n(.*?)\n(.*?)\n```'
    ((sql, heads, numbers),) = re.findall(block, README, flags=re.DOTALL)
    rows = open_store(ROOT / "data/public").query(
        f"{sql} WHERE model_id = 'local/SmolLM2-135M-Instruct.Q4_1'"
    )
    assert heads.split() == list(rows)
    assert [float(it) for it in numbers.split()] == pytest.approx(rows.iloc[0].tolist())


FROM_R = ROOT / "examples" / "from_r"
PRINTED = (FROM_R / "printed.txt").read_text(encoding="utf-8")


def test_the_rows_of_the_r_script_are_those_it_printed():
    ((sql,),) = [re.findall(r'query <- "(.*?)"', (FROM_R / "from_r.R").read_text(), re.DOTALL)]
    rows = open_store(DATA / "sample").query(sql)
    assert f"{len(rows)} gains of {rows['model_id'].nunique()} models" in PRINTED
    least = rows.groupby("model_id")["log_gain"].mean().nsmallest(3)
    shown = re.findall(r"^\s*(thermoscope/\S+)\s+(\S+)$", PRINTED, flags=re.MULTILINE)
    assert [name for name, _ in shown] == least.index.tolist()
    assert [float(value) for _, value in shown] == pytest.approx(least.tolist(), rel=1e-6)
    expected = by_pandas.block().query("layer > 0")
    expected = expected[_is_own(expected)]
    assert len(rows) == len(expected)
    assert rows["log_gain"].sum() == pytest.approx(np.log(expected["gain"]).sum())


def _r_lacks():
    if shutil.which("Rscript") is None:
        return "Rscript is not on the path"
    asked = "stopifnot(requireNamespace('lme4', quietly = TRUE))"
    ran = subprocess.run(["Rscript", "-e", asked], capture_output=True, check=False)
    return "R has no package lme4" if ran.returncode else ""


def test_the_r_script_prints_what_the_page_shows(monkeypatch):
    if reason := _r_lacks():
        pytest.skip(reason)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    ran = subprocess.run(
        ["Rscript", "examples/from_r/from_r.R"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == PRINTED
