"""Notes where rows of one model, or unlike prompt sets, are compared as if they were models."""

import re
from pathlib import Path

import pytest

import thermoscope as ts
from analysis.store import open_store
from analysis.store.notes import cautions
from collect import schema
from tests.analysis.places import ROOT
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import SOURCES
from tests.analysis.store.noted import NOTED, noted

SET = "prompt_set = 'A_grand_unified'"
SETS = "SELECT prompt_set, avg(gain_penultimate_block) FROM prompt_gain GROUP BY prompt_set"


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


@pytest.mark.parametrize("query", NOTED["independent rows"])
def test_a_mean_over_several_rows_of_a_model_is_noted(store, query):
    (note,) = [note for note in noted(store, query) if "independent" in note]
    assert "model_id" in note


def test_tables_with_several_rows_of_a_model_share_a_note_with_both_ways_to_go_on(store):
    query = "SELECT corr(w.{}, a.entropy) FROM {} w JOIN attention a USING (model_id, layer, head)"
    (note,) = [
        note
        for note in noted(store, query.format("ov_spectral", "head_weight"))
        if "independent" in note
    ]
    assert note.startswith("attention, head_weight: ")
    assert "average by model_id first" in note
    assert "GROUP BY model_id" in note
    (note,) = noted(store, "SELECT avg(gain_body) FROM prompt_gain WHERE model_id LIKE 'local/%'")
    assert "GROUP BY model_id" in note
    assert note.endswith("main.model_gain has one row a model")


def test_what_to_do_about_repeated_and_dependent_rows_is_said_once_in_order(store):
    query = (
        "SELECT corr(o_frobenius, ln(gain)), count(*) FROM block JOIN layer_weight "
        "USING (model_id, layer) WHERE model_id LIKE 'local/%'"
    )
    notes = noted(store, query)
    assert len(notes) == 3
    assert sum("independent" in note or "join repeats" in note for note in notes) == 1
    (note,) = [note for note in notes if note.startswith("layer_weight: the join repeats")]
    assert note.index("bring block to one row per model_id, layer") < note.index("GROUP BY")
    to_blocks = (
        "(SELECT model_id, layer, avg(ln(gain)) AS g FROM block WHERE layer > 0 GROUP BY ALL)"
    )
    cured = (
        f"SELECT model_id, corr(ln(o_frobenius), g), count(g) FROM layer_weight JOIN {to_blocks} "
        "USING (model_id, layer) WHERE model_id LIKE 'local/%' GROUP BY model_id"
    )
    assert noted(store, cured) == []


@pytest.mark.parametrize(
    ("query", "cure"),
    [
        ("SELECT avg(n_layers) FROM model JOIN outlier_token USING (model_id)",
         "bring outlier_token to one row per model_id first"),
        ("SELECT avg(m.n_layers) FROM model m JOIN outlier_token USING (model_id) JOIN coverage "
         "USING (model_id)", "bring the other tables to one row per model_id first"),
        ("SELECT corr(b.gain, c.gain) FROM block b JOIN block c USING (model_id, layer)",
         "bring the other table to one row per model_id, prompt_id, layer"),
    ],
)  # fmt: skip
def test_the_table_that_repeats_another_is_named_where_there_is_one(store, query, cure):
    (note,) = [note for note in noted(store, query) if "join repeats" in note]
    assert cure in note


def test_prompt_sets_of_different_models_are_named_with_their_number_of_models(unlike_sets):
    (note,) = [note for note in noted(unlike_sets, SETS) if "different models" in note]
    for name, n in (("A_grand_unified", 3), ("B_pythia_sweep", 1)):
        assert f"{name} {n}" in note


def test_other_prompt_sets_are_said_to_be_in_raw(store):
    asked = "SELECT avg(gain_body) FROM prompt_gain WHERE prompt_set IN ('B_pythia_sweep', '{}')"
    for name in ("A_grand_unified", "D3_clean_residual"):
        store.columns(asked.format(name))
        for is_empty in (False, True):
            notes = cautions(store, asked.format(name), is_empty=is_empty)
            (note,) = [note for note in notes if "prompts of model_gain" in note]
            assert note.startswith("prompt_gain has the prompts of model_gain, A_grand_unified; B")
            assert note.endswith(": raw.prompt_gain")
            assert (name in note.partition(";")[2]) == (name != "A_grand_unified")


@pytest.mark.parametrize("query", NOTED["quiet"])
def test_no_note_where_a_row_is_a_model_or_of_one_model(store, query):
    assert not [note for note in noted(store, query) if "hides" not in note]


@pytest.mark.parametrize("query", NOTED["kinds"])
def test_networks_trained_here_among_models_of_others_are_noted(store, query):
    (note,) = [note for note in noted(store, query) if schema.KIND in note]
    assert "taken together" in note


@pytest.mark.parametrize("query", NOTED["pooled sets"])
def test_models_of_several_prompt_sets_in_one_number_are_noted(unlike_sets, store, query):
    (note,) = [note for note in noted(unlike_sets, query) if "several prompt sets" in note]
    assert SET in note
    assert not [note for note in noted(store, query) if "several prompt sets" in note]


@pytest.mark.parametrize("case", NOTED["scales"])
def test_a_mean_over_several_scales_names_what_keeps_them_apart(store, case):
    apart, query = case.split(": ", 1)
    (note,) = [note for note in noted(store, query) if "scales" in note]
    assert f"take each {apart} apart" in note


def test_columns_of_one_table_on_several_scales_share_a_note(store):
    query = "SELECT avg(v_spectral), avg(o_spectral), max(v_spectral) FROM layer_weight"
    (note,) = [note for note in noted(store, query) if "scales" in note]
    assert note.startswith("layer_weight.v_spectral, o_spectral: ")


@pytest.mark.parametrize("case", NOTED["repeated"])
def test_a_join_that_repeats_the_rows_of_an_aggregate_is_noted(store, case):
    table, query = case.split(": ", 1)
    notes = [note for note in noted(store, query) if "join repeats" in note]
    assert [note.partition(":")[0] for note in notes] == [table]
    assert ", ".join(schema.KEYS[table]) in notes[0]


def test_who_joins_the_stream_with_outlier_tokens_is_told_which_it_leaves_out(store):
    positions = store.query("SELECT avg((position = 0)::INT) AS share FROM outlier_token")
    assert positions["share"].item() > 0.8
    joined = "SELECT count(DISTINCT o.position) FROM stream JOIN {} o USING (model_id, prompt_id)"
    (note,) = [note for note in noted(store, joined.format("outlier_token")) if "first" in note]
    assert "n_tokens" in note
    assert not [
        note
        for note in noted(store, joined.format("raw.next_token").replace("o.position", "1"))
        if "first" in note
    ]


@pytest.mark.parametrize("query", NOTED["near one"])
def test_a_side_of_one_that_rounding_can_make_is_noted_with_its_models(store, query):
    (note,) = [note for note in noted(store, query) if "rounding" in note]
    gains = by_pandas.published_model().set_index("model_id")["gain_penultimate_block"].dropna()
    near = sorted(gains.index[abs(gains - 1) < 0.01])
    assert len(near) == 2
    assert f"of {', '.join(near)} lies" in note
    without = (
        query.replace("published_model", "published_model WHERE lab = 'TII'")
        .replace(" p WHERE", " WHERE")
        .replace("WHERE lab = 'TII' p", "p WHERE lab = 'TII'")
    )
    assert not [note for note in noted(store, without) if "rounding" in note]


CHAINED = """
    WITH a AS (SELECT model_id, layer, avg({}) AS l FROM {} GROUP BY ALL),
         b AS (SELECT model_id, max(l) AS t FROM a GROUP BY ALL)
    SELECT model_id, avg(t) FROM b GROUP BY 1 ORDER BY 2
"""


@pytest.mark.parametrize(
    ("column", "table"),
    [("length", "stream"), ("v_spectral", "layer_weight"), ("length_after", "block")],
)
def test_a_query_whose_tables_are_made_of_others_is_read(store, column, table):
    assert isinstance(noted(store, CHAINED.format(column, table)), list)


def test_every_query_can_stand_within_others(store):
    queries = [
        it.split(": ", 1)[-1] for name, some in NOTED.items() for it in some if "unit" not in name
    ]
    told = [it for it in queries if not it.startswith(("WITH", "PIVOT", "EXPLAIN", "DESCRIBE"))]
    assert len(told) > 100
    within = (
        "WITH a AS ({}), b AS (FROM a), c AS (SELECT count(*) AS n FROM b) SELECT avg(n) FROM c"
    )
    for query in told[::5]:
        if "tiny" not in query:
            assert isinstance(noted(store, within.format(query)), list), query


@pytest.mark.parametrize("is_empty", [False, True])
def test_who_asks_for_the_first_token_is_told_where_it_is(store, is_empty):
    query = "SELECT model_id, avg(length) FROM stream WHERE {} GROUP BY model_id, layer"
    for condition, n in (("position = 0", 1), ("0 = position", 1), ("position = 1", 0)):
        store.columns(query.format(condition))
        notes = cautions(store, query.format(condition), is_empty=is_empty)
        assert len([note for note in notes if "first_length" in note]) == n


@pytest.mark.parametrize("case", NOTED["dependent"])
def test_networks_of_one_recipe_and_steps_of_one_training_are_noted(store, case):
    said, query = case.split(": ", 1)
    (note,) = noted(store, query)
    assert said in note


@pytest.mark.parametrize("query", NOTED["counted"])
def test_networks_trained_here_that_are_counted_as_models_are_noted(store, query):
    (note,) = [note for note in noted(store, query) if "models counted" in note]
    assert schema.KIND in note


def test_a_statistic_of_pairs_names_its_pairs_and_no_column_alone(store):
    figures = store.query("FROM published_model")
    for name in ("v_frobenius", "o_spectral"):
        n = len(figures.dropna(subset=[name, "gain_penultimate_block"]))
        query = f"SELECT corr({name}, gain_penultimate_block), count(*) FROM published_model"
        (note,) = [note for note in noted(store, query) if "rests" in note]
        assert note.startswith(f"corr of {name}, gain_penultimate_block rests on {n} of 34 rows")
    query = "SELECT spearman(n_parameters, gain_penultimate_block), count(*) FROM published_model"
    n = figures["gain_penultimate_block"].notna().sum()
    (note,) = [note for note in noted(store, query) if "rests" in note]
    assert f"rests on {n} of 34 rows" in note


def test_a_rank_correlation_has_no_scale(store):
    query = "SELECT {}(v_spectral, n_layers) FROM layer_weight JOIN model USING (model_id)"
    by_rank, by_value = (noted(store, query.format(it)) for it in ("spearman", "corr"))
    assert not [note for note in by_rank if "scales" in note]
    (note,) = [note for note in by_value if "scales" in note]
    assert "spearman" in note


@pytest.mark.parametrize("query", NOTED["spread"])
def test_a_spread_over_shapes_of_one_recipe_is_noted(store, query):
    (note,) = [note for note in noted(store, query) if "GROUP BY shape" in note]
    assert "4 shapes" in note


@pytest.mark.parametrize("query", NOTED["side by side"])
def test_values_of_several_models_on_scales_of_their_own_are_noted(store, query):
    (note,) = [note for note in noted(store, query) if "sizes do not rank" in note]
    assert "do not rank models" in note


@pytest.mark.parametrize("query", NOTED["spreads"])
def test_spreads_of_a_mean_over_blocks_are_noted_between_models(store, query):
    (note,) = [note for note in noted(store, query) if "shrinks with depth" in note]
    assert "growth_after_block_0" in note


def test_an_empty_answer_says_which_models_a_table_lacks_and_no_value_that_is_there(store):
    asked = f"SELECT model_id, avg(first_token_share) AS s FROM attention WHERE {SET} GROUP BY ALL"
    (note, values) = cautions(store, f"{asked} HAVING s > 2", is_empty=True)
    assert note.startswith("attention lacks ")
    assert values.startswith("s goes from ")


JOINED = "SELECT {} FROM model_gain m JOIN {} p USING (model_id)"


@pytest.mark.parametrize("other", ["published_model", "raw.reported_gain"])
def test_an_aggregate_over_tables_without_a_common_model_is_noted(store, other):
    same = "count(*) FILTER (WHERE direction(m.gain_body) = direction(p.gain_last_block))"
    (note,) = noted(store, JOINED.format(same, other))
    assert note.startswith("no model_id is both in model_gain and in ")
    (found,) = cautions(store, JOINED.format("m.model_id", other), is_empty=True)
    assert found == note


def test_a_column_without_any_value_is_named(store):
    asked = "SELECT model_id FROM model WHERE training_step IS NOT NULL"
    (note,) = cautions(store, asked, is_empty=True)
    assert note.startswith("model.training_step is NULL in every row: ")
    assert "collect run --revision" in note
    both = "SELECT model_id, gain_body FROM model_gain"
    assert cautions(store, both, lacking=["gain_body"])[0].startswith("gain_body: NULL in every")
    assert cautions(store, "FROM model_gain", lacking=["gain_body"]) == []


def test_python_warns_of_what_the_command_notes(store):
    query = "SELECT avg(log_growth) AS g FROM network_step WHERE recipe = 'olmo2'"
    with pytest.warns(ts.QueryWarning, match="several steps") as warned:
        rows = ts.sql(query, store)
    assert Path(warned[0].filename) == Path(__file__)
    steps = store.query("FROM network_step WHERE recipe = 'olmo2'")
    assert rows["g"].item() == pytest.approx(steps["log_growth"].mean(), rel=1e-12)


def test_a_correlation_of_very_few_models_is_noted_with_their_number(store):
    few = "SELECT corr(n_parameters, gain_body), max(gain_body) FROM model_gain WHERE {}"
    (file, note) = noted(store, few.format("NOT is_trained_here"))
    assert file.startswith("model_gain.n_parameters")
    assert note.startswith("corr of n_parameters, gain_body rests on 4 rows")
    assert noted(store, few.format("is_trained_here")) == []


def test_tables_without_a_common_model_are_named(store):
    sql = "SELECT model_id FROM published_model JOIN model_gain USING (model_id)"
    store.columns(sql)
    (note,) = cautions(store, sql, is_empty=True)
    assert note.startswith("no model_id is both in model_gain and in published_model")


def test_prompts_of_different_numbers_of_models_are_noted_with_them(unlike_sets, store):
    for column, n in (("prompt_id", 3), ("text", 4)):  # some texts are in both sets
        sql = f"SELECT {column}, avg(gain_body) g FROM prompt_gain GROUP BY 1 ORDER BY g LIMIT 3"
        (note,) = [note for note in noted(unlike_sets, sql) if "some prompts" in note]
        assert " 1 models" in note
        assert f"to {n};" in note
        assert not [note for note in noted(store, sql) if "some prompts" in note]


@pytest.mark.parametrize("query", NOTED["no lab"])
def test_networks_trained_here_are_no_lab(store, query):
    (note,) = [note for note in noted(store, query) if schema.KIND in note]
    assert "no lab" in note


def test_a_mean_by_lab_that_rests_on_one_model_is_noted_with_the_lab(store):
    notes = noted(store, "SELECT lab, avg(gain_body) FROM model_gain GROUP BY lab")
    (note,) = [note for note in notes if note.startswith("lab: ")]
    assert "Google, Hugging Face rest" in note
    published = by_pandas.published_model().dropna(subset="gain_penultimate_block")
    sizes = published.groupby("lab").size()
    sql = "SELECT lab, avg(gain_penultimate_block) FROM published_model GROUP BY lab"
    (note,) = [note for note in noted(store, sql) if note.startswith("lab: ")]
    assert note.startswith(f"lab: {', '.join(sizes[sizes == 1].index)} rest")


def test_a_lab_of_one_model_and_its_fine_tuned_one_rests_on_one(store):
    figures = by_pandas.published_model().dropna(subset="gain_last_block")
    roots = figures["base_model_id"].fillna(figures["model_id"]).groupby(figures["lab"]).nunique()
    sizes = figures.groupby("lab").size()
    both = [*sizes.index[(sizes > 1) & (roots == 1)]]
    assert len(both) == 2
    sql = "SELECT lab, avg(gain_last_block) FROM published_model GROUP BY lab"
    (note,) = [note for note in noted(store, sql) if note.startswith("lab: ")]
    assert all(name in note for name in both)
    suites = sql.replace("lab, avg", "lab, suite, avg").replace("BY lab", "BY lab, suite")
    (note,) = [note for note in noted(store, suites) if note.startswith("lab / suite: ")]
    suites = figures.merge(by_pandas.models()).groupby(["lab", "suite"]).size()
    assert note.count("EleutherAI / ") == min((suites["EleutherAI"] == 1).sum(), 4)


def test_a_table_that_lacks_a_measured_model_beside_others_says_which(store):
    lacking = set(by_pandas.runs("prompts")["model_id"]) - set(by_pandas.attention()["model_id"])
    assert len(lacking) == 1
    sql = f"SELECT model_id, avg(entropy) FROM attention WHERE {SET} GROUP BY model_id"
    (note,) = noted(store, sql)
    assert note.startswith("attention lacks 1 of 16 measured models: ")
    assert lacking.pop() in note
    assert "coverage" in note
    (note,) = noted(store, sql.replace("WHERE", "WHERE starts_with(model_id, 'local/') AND"))
    assert note.startswith("attention lacks 1 of 4 ")
    assert not noted(store, sql.replace("WHERE", "WHERE model_id LIKE 'thermoscope/%' AND"))


PAGES = (ROOT / "README.md", ROOT / "collect/record/publication/codebook.md")


def test_the_queries_of_readme_and_codebook_take_no_unlike_rows_together(store):
    found = [
        sql for page in PAGES for sql in re.findall(r"```sql\n(.*?);?\n```", page.read_text(), re.S)
    ]
    assert len(found) > 5
    for sql in found:
        assert not [note for note in noted(store, sql) if " lacks " not in note], sql
