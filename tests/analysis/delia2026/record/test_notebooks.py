"""The paper's notebooks: each query gives what the notebook saved, each command runs."""

import io

import pandas as pd
import pytest

from analysis.commands import cli
from analysis.delia2026.record.notebooks import notebooks, table
from tests.analysis.places import PUBLISHED, ROOT
from tests.collect.conftest import tiny_model, tiny_tokenizer

LISTED = notebooks()
QUERIES = {it.name: it.sql for it in LISTED if it.sql}
COMMANDS = {it.name: it.command for it in LISTED if it.command}
#: The readme of the paper's folder names 18; one of them saved no file.
N_NOTEBOOKS, WITHOUT_FILE = 18, "Bentov_Point_Characterization"
QUICK_START = [
    "Scaling_Law_Multi_Pythia",
    "Grand_Unified_Thermodynamic_Benchmark",
    "Restriction_Maps_Extraction",
    "Twin_Test_Base_vs_Instruct",
    "High_Rho_Model_Hunt_NO_FINAL_LN",
]
PYTHIA, MISTRAL = "EleutherAI/pythia-6.9b", "mistralai/Mistral-7B-v0.1"
GEMMA, LLAMA, GPT_J = "google/gemma-7b", "meta-llama/Llama-3.1-8B", "EleutherAI/gpt-j-6b"
GPT2 = "openai-community/gpt2"
#: What the result files state, read by hand, by the first columns of the answer.
SAVED = {
    "Scaling_Law_Multi_Pythia": {"exponent": 0.26500476896304215},
    "Grand_Unified_Thermodynamic_Benchmark": {
        (PYTHIA, "gain"): 0.8047180176838018,
        (GEMMA, "gain"): 2.31435905621165,
        (MISTRAL, "gain"): 1.1053303222054227,
        (LLAMA, "gain"): 1.4845033765719124,
        (PYTHIA, "rho"): 0.07923076923076922,
        (GEMMA, "rho"): 0.6292307692307691,
        (MISTRAL, "rho"): 0.13538461538461538,
        (LLAMA, "rho"): 0.3853846153846154,
    },
    "Twin_Test_Base_vs_Instruct": {
        (MISTRAL, "mean"): 1.1060267134438262,
        ("mistralai/Mistral-7B-Instruct-v0.2", "mean"): 1.1352367278227393,
        (GEMMA, "mean"): 2.3158992258981477,
        ("google/gemma-7b-it", "mean"): 1.153106714521428,
        (LLAMA, "mean"): 1.483777591456048,
        ("meta-llama/Llama-3.1-8B-Instruct", "mean"): 1.5759476614500867,
    },
    "High_Rho_Model_Hunt_NO_FINAL_LN": {"n_right": 0.4375 * 16, "n_models": 16},
    "Pythia_Family_Residual_Gain_Sweep": {"r": -0.8116303228842858, "n_models": 8},
    "Clean_Residual_Gain_NO_FINAL_LN": {
        (PYTHIA, "gain_penultimate_block", "mean"): 0.9866687545017112,
        (PYTHIA, "gain_with_final_norm", "mean"): 0.31992625084363047,
        (GPT_J, "gain_penultimate_block", "mean"): 1.1328371992519364,
        (GPT_J, "gain_with_final_norm", "mean"): 0.3726684662728539,
    },
    "4Model_Cross_Architecture_Validation": {
        (PYTHIA, "mean"): 0.2173087050705337,
        (GEMMA, "mean"): 2.852890901055517,
        ("swiss-ai/Apertus-8B-2509", "mean"): 2.6449197142046392,
        (LLAMA, "mean"): 0.47969096031265646,
    },
    "GPT2_LayerNorm_Validation": {
        (f"{GPT2}-xl", "mean"): 1.0190977287373257,
        (f"{GPT2}-xl", "t"): 3.8368728165824506,
        (f"{GPT2}-large", "mean"): 1.0143503074804847,
        (f"{GPT2}-large", "t"): 2.839474695706995,
        (f"{GPT2}-medium", "mean"): 1.162664923518424,
        (f"{GPT2}-medium", "t"): 10.569266314960919,
    },
    "GPTJ_Parallel_Architecture_Test": {
        (GPT_J, "mean"): 1.0652160016545886,
        (GPT_J, "t"): 3.6334905594106552,
    },
    "FFN_Expansion_Analysis": {
        ("gain_sublayer_attention", "n_above_1"): 0,
        ("gain_sublayer_attention", "n_blocks"): 24,
        ("gain_sublayer_ffn", "n_above_1"): 2,
        ("gain_sublayer_ffn", "n_blocks"): 24,
    },
    "OPT_Anomaly_Investigation": {
        ("facebook/opt-125m", "weight_frobenius_v", "mean"): 15.95031730333964,
        ("facebook/opt-125m", "weight_spectral_v", "mean"): 1.6076016624768574,
        (GPT2, "weight_frobenius_v", "mean"): 88.1529410680135,
        (GPT2, "weight_spectral_v", "mean"): 8.954082250595093,
        ("EleutherAI/pythia-160m", "weight_frobenius_v", "mean"): 44.44312874476115,
        ("EleutherAI/pythia-160m", "weight_spectral_v", "mean"): 22.146686653296154,
    },
    "Mistral_Paradox_Investigation": {
        ("gain_whole_matrix", "mean"): 1.3680372740216322,
        ("output_entropy", "mean"): 4.210297584533691,
    },
    "L_Star_Cross_Heritage_SignChange": {"error": 55.69027777777779},
}
#: Of our own measurements, which have no counterpart in the paper's files.
OF_OURS = {"Input_Dependency_Thermodynamics"}


def answer(capsys, *words):
    """Return what a command prints as CSV, as a frame."""
    code = cli.main([*words, "--csv"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return pd.read_csv(io.StringIO(printed.out))


def test_every_notebook_of_the_paper_has_one_row():
    assert len({it.name for it in LISTED}) == len(LISTED) == N_NOTEBOOKS
    first = sorted((it.quick_start, it.name) for it in LISTED if it.quick_start)
    assert first == list(enumerate(QUICK_START, 1))
    files = pd.read_csv(PUBLISHED / "published_file.csv")["notebook"].dropna()
    saved = {name.removesuffix(".ipynb") for name in files if name.endswith(".ipynb")}
    assert {it.name for it in LISTED} - saved == {WITHOUT_FILE}
    assert saved <= {it.name for it in LISTED}
    for it in LISTED:
        assert sum(map(bool, (it.sql, it.command, it.absent))) == 1, it.name
        assert it.computes
    assert len(table()) == N_NOTEBOOKS


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_what_the_notebook_saved(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = answer(capsys, "sql", QUERIES[name])
    assert len(shown)
    assert (name in SAVED) != (name in OF_OURS)
    numbers = {}
    for _, row in shown.iterrows():
        keys = [value for value in row if isinstance(value, str)]
        for column, value in row.items():
            if not isinstance(value, str):
                numbers[(*keys, column) if keys else column] = value
    if name in SAVED:
        assert numbers == pytest.approx(SAVED[name], rel=1e-8)
    else:
        assert all(-1 <= value <= 1 for value in numbers.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers_for_each_measured_network(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = answer(capsys, *COMMANDS[name].split())
    measured = shown[shown["source"] == "measured"]
    assert measured["model_id"].nunique() >= 6
    assert measured["estimate"].notna().any()
    methods = set(measured["method"])
    assert {"argmax_interior_gradient", "argmin_contraction", "formula"} <= methods


def test_a_model_is_measured_on_the_prompts_of_every_notebook(tmp_path, capsys, monkeypatch):
    """The command of the section, over all prompt sets of the notebooks, and its query."""
    monkeypatch.chdir(ROOT)
    sets = pd.read_csv(PUBLISHED / "published_file.csv")["prompt_set"].dropna().unique()
    checkpoint = tmp_path / "model"
    tiny_model("llama", seed=0).save_pretrained(checkpoint)
    tiny_tokenizer().save_pretrained(checkpoint)
    runs = str(tmp_path / "runs")
    words = ("collect", "run", str(checkpoint), "--prompts", *sorted(sets), "--out", runs)
    assert cli.main([*words, "--quantities", "stream", "--too-long", "truncate"]) == 0
    capsys.readouterr()
    shown = answer(capsys, "--data", runs, "sql", "FROM model_gain")
    assert len(shown) == 1
    measured = answer(capsys, "--data", runs, "sql", "SELECT DISTINCT prompt_set FROM raw.run")
    assert set(measured["prompt_set"].dropna()) >= set(sets)
