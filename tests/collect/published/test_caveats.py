"""Values carry the defects that touch them, and no others."""

import pytest

from collect.published import catalogue

SWEEP = "pythia_family_NO_FINAL_LN_20260105_174820.json"
SUMMARY = "restriction_map_summary_20260105_202448.csv"


def test_a_value_carries_only_caveats_of_its_file(values):
    listed = {name: set(row["caveats"].split(",")) for name, row in catalogue.files().items()}
    for file, caveats in values.groupby("file")["caveats"]:
        assert {c for ids in caveats for c in ids.split(",") if c} <= listed[str(file)]


def test_every_caveat_of_a_file_touches_one_of_its_values(values):
    carried = values.groupby("file")["caveats"].agg(lambda ids: set(",".join(ids).split(",")))
    for name, row in catalogue.files().items():
        listed = {caveat for caveat in row["caveats"].split(",") if caveat}
        assert listed - carried[name] <= {"B15"}, name


@pytest.mark.parametrize(
    ("file", "path", "caveats"),
    [
        (SWEEP, "$.models[0].residual_gain_all[0]", "B1"),
        ("gpt2_layernorm_validation_20260105_150306.json", "$.all_results[0].Last_Gain", ""),
        ("thermodynamic_benchmark_20260105_141034.json", "$.all_results[0].Last_Gain", "B3"),
        ("twin_test_results_20260105_160237.json", "$.all_results[0].Last_Gain", "B3"),
        ("twin_test_results_20260105_160237.json", "$.all_results[25].Last_Gain", "B3,B16"),
        ("twin_test_results_20260105_160237.json", "$.hypothesis_results[0].Delta", "B3,B16"),
        ("input_dependency_thermodynamics.json", "$.results['1_Factual'].last_gain", "B4"),
        ("4model_validation_results.json", "$.results['gemma-7b'].initial_gain", "B4,B12"),
        (SUMMARY, "$[0]['W_V Mean']", "B2"),
        (SUMMARY, "$[5]['W_V Mean']", "B2"),
        (SUMMARY, "$[6]['W_V Mean']", ""),
        (SUMMARY, "$[0]['W_O Mean']", ""),
        ("H4_v2_extended_20260106_012606.json", "$.extended_results[1].L_star", "B2,B8,B9,B10,B14"),
        ("H4_v2_extended_20260106_012606.json", "$.extended_results[4].L_star", "B8,B10,B11,B14"),
        ("H4_v2_validation_20260106_015547.json", "$.results[3].graph_lambda_2[0]", "B7,B14"),
        ("l_star_sign_change_20260106_111315.json", "$.results[5].L_star_empirical", "B5,B14"),
        ("l_star_sign_change_20260106_111315.json", "$.verdict", "B13"),
    ],
)
def test_caveats_follow_metric_file_and_model(values, file, path, caveats):
    row = values[(values["file"] == file) & (values["path"] == path)].iloc[0]
    assert row["caveats"] == caveats
