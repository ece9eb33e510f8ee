"""What each claim's quantity is a property of, and the p adjusted within its declared family."""

import io

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import family
from analysis.audit import property as properties
from analysis.audit.claim import adjusted, reading, verdict
from analysis.delia2026.pages.register import CLAIMS
from analysis.tidy.errors import StoreError
from collect.record.publication.database import views_sql
from collect.schema import assemble, connect
from tests.analysis.places import PUBLISHED

KINDS = {"function", "parametrisation", "training", "architecture", "record"}


@pytest.fixture(scope="module")
def result(shipped_store):
    return claims.properties(shipped_store).set_index("claim_id")


def test_every_claim_has_a_property_which_the_norms_of_its_models_decide(result):
    assert set(result.index) == set(CLAIMS)
    assert set(result["property"]) == KINDS
    assert result["reason"].str.len().min() > 10
    assert result["remark"].str.endswith((".",)).all()
    assert (result["remark"] == result["line"] + " " + result["reason"]).all()
    assert "in all 23 models" in result.loc[7, "remark"]
    pair = result.loc[45]  # Pythia-6.9B and GPT-J-6B, both with LayerNorm
    assert (pair["property"], pair["n_free"], pair["n_models"]) == ("parametrisation", 2, 2)
    assert pair["moved_by"] == "mean_shift"
    assert pair["partner"] == "gain_last_block_centred gain_penultimate_block_centred"
    gemma = result.loc[48]  # RMSNorm: the raw gain is kept
    assert (gemma["property"], gemma["n_free"], gemma["n_models"]) == ("function", 0, 1)
    four = result.loc[18]  # Pythia-6.9B has LayerNorm; Mistral, Llama and Gemma have RMSNorm
    assert (four["n_free"], four["n_models"]) == (1, 4)


def test_quantities_and_places_are_known():
    declared = pd.read_csv(PUBLISHED / "claim_quantity.csv").fillna("")
    quantities = set(pd.read_csv(PUBLISHED / "gauge_quantity.csv")["quantity"])
    model = pd.read_csv(PUBLISHED / "model.csv")
    subjects = {*model["lab"], *model["suite"], *model["model_id"]}
    for row in declared.itertuples():
        named, about = set(row.quantity.split(",")) - {""}, set(row.about.split(",")) - {""}
        assert named <= quantities, row.claim_id
        assert about <= subjects, row.claim_id
        assert bool(named) == (row.rests_on in ("network", "descent")), row.claim_id


def test_what_moves_a_quantity_is_counted_over_the_models_that_a_claim_is_about(made_store):
    shape = {"n_layers": 4, "d_model": 64, "n_heads": 4, "n_kv_heads": 4, "d_head": 16}
    shape |= {"family": "opt", "norm_kind": "LayerNorm", "norm_position": "pre"}
    models = [
        {"model_id": "ln"},
        {"model_id": "rms", "norm_kind": "RMSNorm"},
        {"model_id": "on what is added", "norm_position": "output"},
        {"model_id": "tuned", "base_model_id": "ln"},
    ]
    printed = {"prompt_set": "S", "dtype": "fp16", "file": "f", "path": "$", "mean": 0.9, "n": 5}
    printed |= {"metric": "gain", "unit": "ratio", "caveats": ""}

    def table(text):
        """Return the rows of a table whose first line names its columns."""
        return pd.read_csv(io.StringIO(text), keep_default_na=False).to_dict("records")

    store = made_store(
        model=[shape | one for one in models],
        published_figure=[printed | {"model_id": one["model_id"]} for one in models],
        gauge_lemma=table(
            "ingredient,transformation,norm_kind,is_kept,reason\n"
            "length,mean_shift,LayerNorm,False,length moves\n"
            "length,mean_shift,RMSNorm,True,length stays\n"
            "weights,value_basis,LayerNorm,False,weights moves\n"
            "weights,value_basis,RMSNorm,False,weights moves\n"
            "length,value_basis,RMSNorm,True,length stays\n"
        ),
        gauge_quantity=table(
            "quantity,made_of,explanation,partner_layer_norm,partner_rms_norm\n"
            'gain,length,It is.,gain_centred,\nnorm,"weights,length",It is.,,\n'
        ),
        claim_quantity=table(
            "claim_id,rests_on,quantity,about,reason\n1,network,gain,,so\n2,descent,gain,,so\n"
            '3,network,"gain,norm",rms,so\n4,network,gain,on what is added,so\n'
        ),
    )
    rows = store.query("FROM claim_property").set_index("claim_id")
    names = ["property", "moved_by", "partner", "n_free", "n_models"]
    # Norms on what is added count as fixed; only descent is about the tuned model.
    assert rows.loc[[1, 2, 3, 4], names].to_numpy().tolist() == [
        ["parametrisation", "mean_shift", "gain_centred", 1, 3],
        ["training", "mean_shift", "gain_centred", 2, 4],
        ["parametrisation", "value_basis", "", 1, 1],
        ["function", "", "", 0, 1],
    ]
    # What moves a quantity is its proof; where nothing does, all that stays is.
    proofs = store.query("FROM gauge_invariance WHERE norm_kind = 'RMSNorm'")
    proofs = proofs.set_index(["quantity", "transformation"])["proof"].sort_index()
    assert proofs.tolist() == [*["It is. length stays."] * 3, "It is. weights moves."]


def test_norms_behind_sub_layers_leave_the_mean_free_but_after_the_last_block(made_store):
    shape = {"n_layers": 24, "d_model": 64, "n_heads": 4, "n_kv_heads": 4, "d_head": 16}
    printed = {"prompt_set": "S", "dtype": "fp16", "file": "f", "path": "$", "mean": 0.9, "n": 5}
    cases = [
        ("post", "gain_penultimate_block", True),
        ("post", "gain_last_block", False),
        ("pre", "gain_last_block", True),
        ("output", "gain_penultimate_block", False),
    ]
    named = [(f"{position} {metric}", position, metric) for position, metric, _ in cases]
    store = made_store(
        model=[
            {"model_id": name, "family": "opt", "norm_kind": "LayerNorm", "norm_position": position}
            | shape
            for name, position, _ in named
        ],
        published_figure=[
            {"model_id": name, "metric": metric, "unit": "ratio", "caveats": ""} | printed
            for name, _, metric in named
        ],
    )
    result = store.query("FROM gain_freedom").set_index("model_id")["is_free"]
    assert [bool(result[name]) for name, _, _ in named] == [is_free for *_, is_free in cases]


def test_the_property_follows_from_what_moves_the_quantity():
    connection = connect()
    assemble(connection, (PUBLISHED,), copy=True)
    connection.execute("UPDATE gauge_lemma SET is_kept = true WHERE ingredient = 'stream_angles'")
    connection.execute(views_sql())
    was = "SELECT property FROM claim_property WHERE claim_id = ?"
    assert connection.execute(was, [7]).fetchone() == ("function",)
    assert connection.execute(was, [31]).fetchone() == ("parametrisation",)


def test_a_paper_that_declares_nothing_has_no_property_and_one_family(made_store):
    store = made_store(claim=[{"claim_id": 1, "statement": "a", "place": "b"}])
    assert properties.claim_property(store, 1) == {"property": "", "property_remark": ""}
    store = made_store()
    named = family.families(store, pd.DataFrame({"claim_id": [1, 2]}))
    assert named.tolist() == ["all claims", "all claims"]
    store = made_store(claim_family=[{"claim_id": 1, "family": "a"}])
    with pytest.raises(StoreError, match=r"must give each claim a family; it leaves out 2\."):
        family.families(store, pd.DataFrame({"claim_id": [1, 2]}))


def rows(*tests):
    """Return claims with the columns that `adjusted` reads, from pairs of family and p."""
    return pd.DataFrame(
        {"claim_id": range(1, len(tests) + 1), "family": [name for name, _ in tests]}
        | {"p_value": [p for _, p in tests], "estimate": [float(n) for n in range(len(tests))]}
        | {"statement": "said", "verdict": "undecided", "n_obs": 8, "n_models": 8}
        | {"method": "a test"}
    )


def test_p_values_are_adjusted_within_their_family_as_by_hand():
    result = family.adjusted(rows(("a", 0.04), ("a", 0.01), ("b", 0.02), ("a", 0.03)))
    by_claim = result.set_index("claim_id")
    # Holm: 3 * 0.01, 2 * 0.03, then 0.04 raised to 0.06. BH: 3 / 1 * 0.01, 3 / 2 * 0.03 and
    # 0.04 lowered to min(0.045, 0.04).
    assert by_claim["p_holm"].to_dict() == pytest.approx({1: 0.06, 2: 0.03, 3: 0.02, 4: 0.06})
    assert by_claim["p_bh"].to_dict() == pytest.approx({1: 0.04, 2: 0.03, 3: 0.02, 4: 0.04})
    assert by_claim["n_tests"].to_dict() == {1: 3, 2: 3, 3: 1, 4: 3}
    assert result["claim_id"].tolist() == [2, 4, 1, 3]
    twice = rows(("a", 0.01), ("a", 0.01), ("a", 0.04))
    same = twice.assign(estimate=[0.5, 0.5, 0.7])
    assert family.adjusted(same)["p_holm"].tolist() == pytest.approx([0.02, 0.02, 0.04])
    assert family.adjusted(twice)["p_holm"].tolist() == pytest.approx([0.03, 0.03, 0.04])
    result = family.adjusted(rows(("a", float("nan")), ("a", 0.02)))
    assert result["claim_id"].tolist() == [2]
    assert result["p_holm"].tolist() == [0.02]
    assert family.adjusted(rows(("a", float("nan")))).empty


def test_each_claim_has_one_family_of_tests_counted_once(judged, made):
    declared = pd.read_csv(PUBLISHED / "claim_family.csv")
    assert declared["claim_id"].tolist() == list(CLAIMS)
    assert judged["family"].tolist() == declared["family"].tolist()
    result = claims.adjusted(judged).set_index("claim_id")
    # 286 / 8008 (claims 7 and 22), the t test of claim 23 and the posterior of claim 20.
    assert result.loc[[7, 22], "n_tests"].tolist() == [3, 3]
    assert result.loc[7, "p_holm"] == pytest.approx(3 * 286 / 8008)
    result = claims.adjusted(judged).set_index("claim_id")
    for number in (58, 60):
        stated = next(check for check in made[number] if check.decides and check.has_data)
        assert result.loc[number, "p_value"] == stated.p_value


def test_a_repeated_reading_changes_no_verdict(made):
    for number, checks in made.items():
        kind = CLAIMS[number].kind
        twice = [check for check in checks for _ in range(2)]
        assert verdict(twice, kind) == verdict(checks, kind)
        assert reading(twice, kind) == reading(checks, kind)
        np.testing.assert_array_equal(adjusted(twice)[::2], adjusted(checks))
