"""Power of the tests at a design at hand, and the design that a power asks for."""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.inference import power
from analysis.inference.power import Components
from analysis.inference.resampling import permutation
from analysis.mixed import power as power_mixed
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.places import R
from tests.benchmarks import inference_size

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "power.csv")
KNOWN = Components(between=0.3, within=0.2)


def by_exchange(rows, label, effects, n):
    names = {"label": label, "unit": "lab", "cluster": "lab", "components": KNOWN}
    drawn = {"rng": np.random.default_rng(3), "n_simulations": n}
    return power.permutation_power(rows, effects=effects, **names, **drawn)


def test_power_and_units_needed_agree_with_power_t_test():
    result = [
        power_mixed.two_group_power(row.delta, row.n, row.alpha) for row in answers.itertuples()
    ]
    # R's noncentral t is accurate to about 1e-12 in absolute terms.
    np.testing.assert_allclose(result, answers["power"], atol=1e-9)
    for (delta, alpha), rows in answers.groupby(["delta", "alpha"]):
        # Means of many models without deviation between: a unit's deviation is within / sqrt(n).
        result = power_mixed.units_needed(
            Components(0.0, 2.0), effects=[delta], models_per_unit=[4], alpha=alpha
        )
        assert result["units_needed"].tolist() == [rows["needed"].iloc[0]]
    result = power_mixed.units_needed(
        Components(1.0, 1.0), effects=[1.0], models_per_unit=[1, 10, 10**6]
    )
    alone = power_mixed.units_needed(Components(1.0, 1e-9), effects=[1.0], models_per_unit=[1])
    assert result["units_needed"].is_monotonic_decreasing
    assert result["units_needed"].iloc[-1] == alone["units_needed"].iloc[0] == 17


def test_permutation_power_is_that_of_the_permutation_test():
    rows = models.assign(suite=models["lab"])
    result = by_exchange(rows, "heritage", [0.0, 0.9], 15)
    rng = np.random.default_rng(3)
    codes = pd.factorize(models["lab"], sort=True)[0]
    noise = 0.3 * rng.standard_normal((15, 7))[:, codes] + 0.2 * rng.standard_normal((15, 24))

    def difference(frame):
        counts = np.bincount(codes)
        of_lab = np.bincount(codes, frame["heritage"]) / counts == 1
        means = np.bincount(codes, frame["gain"]) / counts
        return float(means[of_lab].mean() - means[~of_lab].mean())

    rejected = []
    for each in noise:
        tested = permutation.permutation_test(
            rows.assign(gain=each + 0.9 * rows["heritage"]),
            difference,
            label="heritage",
            unit="lab",
        )
        rejected.append(tested["p_value"].iloc[0] <= 0.05)
    assert result["power"].iloc[1] == pytest.approx(np.mean(rejected))
    assert result["smallest_p"].tolist() == [1 / 35, 1 / 35]


def test_the_detectable_effect_is_read_off_the_curve():
    rows = models[models["lab"].isin(["Ainu", "Basque", "Catalan", "Dakota", "Ewe"])]
    rows = rows.assign(ours=rows["lab"] == "Ainu")
    result = by_exchange(rows, "ours", [100.0], 20)
    assert result["power"].tolist() == [0.0]
    assert result["smallest_p"].tolist() == [0.2]
    unreached = power.minimum_detectable(result)
    assert np.isnan(unreached["estimate"].iloc[0])
    assert unreached["note"].iloc[0] == "No effect up to 100 reaches a power of 0.8."
    curve = pd.DataFrame(
        {"term": "x", "method": "m", "true_value": [0.0, 1, 2, 3], "power": [0.05, 0.5, 0.7, 0.9]}
        | {"conf_low": [0.0, 0.4, 0.6, 0.8], "conf_high": [0.1, 0.6, 0.8, 1.0]}
        | {"alpha": 0.05, "n_obs": 10, "n_groups": 5}
    )
    row = power.minimum_detectable(curve).iloc[0]
    assert [row["conf_low"], row["estimate"], row["conf_high"]] == pytest.approx([2.0, 2.5, 3.0])
    assert row["test_size"] == 0.05


def test_mixed_power_has_its_size_rises_and_draws_with_its_components():
    model = mixed.fit("gain ~ heritage + (1 | lab)", models)
    result = power_mixed.mixed_power(
        model,
        effects={"heritage": [0.0, 3.0]},
        rng=np.random.default_rng(1),
        components=KNOWN,
        n_simulations=60,
    )
    assert result["power"].iloc[0] <= 0.15
    assert result["power"].iloc[1] > 0.95
    assert result["n_groups"].tolist() == [7, 7]
    glossary.checked(result.columns)
    model = mixed.fit("gain ~ heritage + (1 | lab)", models)
    rates = []
    for known in (Components(0.05, 0.05), Components(3.0, 3.0)):
        options = {"rng": np.random.default_rng(1), "components": known, "n_simulations": 40}
        result = power_mixed.mixed_power(model, effects={"heritage": [1.0]}, **options)
        rates.append(result["power"].iloc[0])
    assert rates[0] == 1.0
    assert rates[1] < 0.4


def test_effects_and_components_are_those_of_the_mixed_model():
    known = mixed.fit("gain ~ heritage + (1 | lab)", models)
    shifted = mixed.fit(
        "gain ~ heritage + (1 | lab)", models.assign(gain=models["gain"] + 2 * models["heritage"])
    )
    first, second = (fitted.tidy(["fixed"]).set_index("term") for fitted in (known, shifted))
    for column in ("std_error", "df"):
        np.testing.assert_allclose(first[column], second[column], rtol=1e-6)
    change = second["estimate"] - first["estimate"]
    np.testing.assert_allclose(change.to_numpy(), [0, 2], atol=1e-8)
    result = power_mixed.variance_components(models, formula="gain ~ heritage", group="lab")
    fitted = mixed.fit("gain ~ heritage + (1 | lab)", models)
    expected = fitted.tidy(["ran_pars"])["estimate"]
    np.testing.assert_allclose(result["estimate"], expected)
    assert result["term"].tolist() == ["between", "within"]
    assert (result["conf_low"] <= result["estimate"]).all()
    assert (result["estimate"] <= result["conf_high"]).all()


def test_designs_without_power_are_refused():
    model = mixed.fit("gain ~ heritage + (1 | lab)", models)
    with pytest.raises(DesignError, match=r"must be in the model; \['depth'\] are not"):
        power_mixed.mixed_power(model, effects={"depth": [0.0]}, rng=np.random.default_rng(1))
    with pytest.raises(DesignError, match="'heritage' must have two levels and be constant"):
        by_exchange(models.assign(lab="one" + models["suite"].str[1]), "heritage", [0.0], 9)
    with pytest.raises(AnalysisError, match="Effects must differ from 0"):
        power_mixed.units_needed(KNOWN, effects=[0.0], models_per_unit=[1])
    with pytest.raises(DesignError, match="more than 10000 units per group"):
        power_mixed.units_needed(KNOWN, effects=[1e-4], models_per_unit=[1])
    with pytest.raises(AnalysisError, match=r"above 0 within; found 0\.1 and 0\.0"):
        Components(0.1, 0.0)


@pytest.mark.slow
def test_models_taken_as_independent_reject_too_often_when_labs_are_alike():
    # What the table is for: the same t test, its size right and then far from right.
    shares = {}
    for world, deviation in inference_size.WORLDS.items():
        result = inference_size.p_values(deviation, 100, 2)
        assert all(0 <= p <= 1 for values in result.values() for p in values)
        shares[world] = np.mean(np.array(result["t test"]) <= 0.05)
    # Three Monte-Carlo standard errors at a nominal 0.05 are 0.065.
    assert shares["independent"] < 0.115 < shares["labs alike"]
