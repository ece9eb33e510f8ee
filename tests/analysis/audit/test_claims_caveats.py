"""Caveats reach a claim from the figures it used, and each is explained."""

import pandas as pd

from analysis.audit import evidence


def test_every_caveat_that_a_verdict_names_is_explained(shipped_store, judged):
    explained = set(shipped_store.query("FROM caveat")["caveat_id"])
    named = {name for joined in judged["caveats"] for name in joined.split()}
    assert named
    assert named <= explained


def test_a_check_has_the_caveats_of_all_rows_it_used_and_of_no_others():
    rows = pd.DataFrame(
        {
            "model_id": ["a", "b", "c"],
            "suite": ["s", "s", "t"],
            "file": ["f", "f", "g"],
            "caveats": ["B3,B16", "B1", ""],
        }
    )
    result = evidence.check("part", "reading", True, rows)
    assert result.caveats == ("B1", "B3", "B16")
    assert evidence.check("part", "reading", True, rows.iloc[2:]).caveats == ()


def test_a_caveat_about_other_models_stays_away(shipped_store):
    # B2 touches Pythia and BLOOM, whose fused matrices were cut in the wrong place.
    weights = evidence.figures(shipped_store, "weight_spectral_v")
    touched = weights["caveats"].str.contains("B2")
    suites = set(weights.loc[touched, "suite"])
    assert suites == {"Pythia", "BLOOM"}
    assert not suites & set(weights.loc[~touched, "suite"])
