"""Degrees of freedom of predictions: by hand in a balanced design, by whole matrices in others."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import mixed
from tests.analysis.places import R

rows = pd.read_csv(R / "mixed_data_crossed.csv")


def balanced(n_groups, n):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(n_groups, 1)) + rng.normal(size=(n_groups, n))
    groups = np.repeat([f"g{place}" for place in range(n_groups)], n)
    return pd.DataFrame({"g": groups, "y": values.ravel()}), values


@pytest.mark.parametrize(("n_groups", "n"), [(3, 30), (4, 100), (6, 4)])
@pytest.mark.parametrize("df", ["kenward-roger", "satterthwaite"])
def test_a_balanced_one_way_design_has_the_degrees_of_freedom_of_its_mean_squares(n_groups, n, df):
    # Mean squares s (within) and b (between) are independent with `within` and `between` df;
    # known mean: s / n (1 - s / b (1 - 1 / g)); new observation: b (1 + 1 / g) / n + s (1 - 1 / n).
    data, values = balanced(n_groups, n)
    within, between = n_groups * (n - 1), n_groups - 1
    s, b = values.var(axis=1, ddof=1).mean(), n * values.mean(axis=1).var(ddof=1)
    assert b > s  # the estimates are those of the analysis of variance
    model = mixed.fit("y ~ 1 + (1 | g)", data)
    known = model.predict(data.head(1), groups="known", df=df).iloc[0]
    new = model.predict(data.head(1), df=df).iloc[0]

    shrunk = s / b * (1 - 1 / n_groups)
    towards = np.array([1 - 2 * shrunk, shrunk]) * s / n
    spread = np.array([1 / within, 1 / between])
    mean = s / n * (1 - shrunk)
    by_hand = mean**2 / (towards**2 @ spread)
    assert known["df"] == pytest.approx(by_hand, rel=1e-6)
    assert known["std_error"] == pytest.approx(np.sqrt(mean), rel=1e-6)
    by_hand = (mean + s) ** 2 / ((towards + np.array([s, 0])) ** 2 @ spread)
    assert known["predicted_df"] == pytest.approx(by_hand, rel=1e-6)
    parts = np.array([s * (1 - 1 / n), b * (1 + 1 / n_groups) / n])
    assert new["predicted_df"] == pytest.approx(parts.sum() ** 2 / (parts**2 @ spread), rel=1e-6)

    half = stats.t.isf(0.025, known["predicted_df"]) * np.sqrt(mean + s)
    assert known["predicted_high"] - known["estimate"] == pytest.approx(half, rel=1e-6)
    assert known["conf_high"] - known["estimate"] == pytest.approx(
        stats.t.isf(0.025, known["df"]) * np.sqrt(mean), rel=1e-6
    )


def test_an_observation_of_three_groups_of_thirty_is_within_two_deviations():
    data, _ = balanced(3, 30)
    model = mixed.fit("y ~ 1 + (1 | g)", data)
    known = model.predict(data.head(1), groups="known").iloc[0]
    # Rows less groups are 87; the fixed part has 2, of which t is 4.303.
    assert known["predicted_df"] == pytest.approx(87, abs=3)
    half = (known["predicted_high"] - known["estimate"]) / np.sqrt(model.solution.variance)
    assert half == pytest.approx(2.02, abs=0.02)
    for groups in ("known", "new"):
        found = model.predict(data.head(1), groups=groups, df="wald").iloc[0]
        assert found["df"] == found["predicted_df"] == np.inf


def second_derivatives(function, at):
    """Return the Hessian by central differences, steps relative to the place."""
    steps = np.diag(2e-3 * np.abs(at))

    def slope(i, j):
        rise = function(at + i + j) - function(at + i - j)
        fall = function(at - i + j) - function(at - i - j)
        return (rise - fall) / (4 * i.sum() * j.sum())

    return np.array([[slope(i, j) for j in np.abs(steps)] for i in np.abs(steps)])


class Whole:
    """A model of two groups by its whole matrices, at variances phi.

    phi: variance of the intercepts by prompt; variance of intercepts, covariance and variance of
    slopes by model; residual variance.
    """

    def __init__(self, data, weights):
        self.data, self.weights = data, weights
        self.fixed = np.column_stack([np.ones(len(data)), data["depth"]])
        self.prompts, self.models = (sorted(data[name].unique()) for name in ("prompt", "model"))
        self.random = self.columns(data)
        self.uncertainty = None

    def columns(self, frame):
        inside = [(frame["prompt"] == level).to_numpy(float) for level in self.prompts]
        for level in self.models:
            here = (frame["model"] == level).to_numpy(float)
            inside += [here, here * frame["depth"].to_numpy()]
        return np.column_stack(inside)

    def covariance(self, phi):
        slopes = np.kron(np.eye(len(self.models)), [[phi[1], phi[2]], [phi[2], phi[3]]])
        size = len(self.prompts)
        result = np.zeros((size + len(slopes),) * 2)
        result[:size, :size], result[size:, size:] = phi[0] * np.eye(size), slopes
        return result

    def deviance(self, phi):
        total = self.random @ self.covariance(phi) @ self.random.T + np.diag(phi[4] / self.weights)
        inverse, y = np.linalg.inv(total), self.data["gain"].to_numpy()
        information = self.fixed.T @ inverse @ self.fixed
        left = y - self.fixed @ np.linalg.solve(information, self.fixed.T @ inverse @ y)
        logs = np.linalg.slogdet(total)[1] + np.linalg.slogdet(information)[1]
        return float(logs + left @ inverse @ left)

    def error(self, phi, at, observed):
        """Return the variance of the error of every prediction."""
        both = np.hstack([self.fixed, self.random])
        left = both.T @ (both * (self.weights / phi[4])[:, None])
        left[2:, 2:] += np.linalg.inv(self.covariance(phi))
        new = np.hstack([np.column_stack([np.ones(len(at)), at["depth"]]), self.columns(at)])
        result = np.einsum("ni,ij,nj->n", new, np.linalg.inv(left), new)
        depth, strange = at["depth"].to_numpy(), ~at["model"].isin(self.models).to_numpy()
        result += strange * (phi[1] + 2 * depth * phi[2] + depth**2 * phi[3])
        result += ~at["prompt"].isin(self.prompts).to_numpy() * phi[0]
        return np.asarray(result + phi[4] * observed)

    def df(self, phi, at, observed):
        if self.uncertainty is None:
            self.uncertainty = 2 * np.linalg.inv(second_derivatives(self.deviance, phi))
        steps = np.diag(1e-5 * np.abs(phi))
        slopes = [
            (self.error(phi + h, at, observed) - self.error(phi - h, at, observed)) / (2 * h.sum())
            for h in steps
        ]
        spread = np.einsum("jn,jk,kn->n", slopes, self.uncertainty, slopes)
        return np.asarray(2 * self.error(phi, at, observed) ** 2 / spread)


@pytest.mark.parametrize("weights", [None, "precision"])
def test_degrees_of_freedom_are_those_of_whole_matrices(weights):
    data = rows.iloc[::2]
    model = mixed.fit("gain ~ depth + (1 + depth | model) + (1 | prompt)", data, weights=weights)
    assert not model.optimum.singular
    covariances = {each.block.group: each.covariance for each in model.inference.modes}
    slopes = covariances["model"]
    phi = np.array([covariances["prompt"][0, 0], *slopes[0], slopes[1, 1], model.solution.variance])
    whole = Whole(data, np.ones(len(data)) if weights is None else data[weights].to_numpy())
    at = data.iloc[::60].reset_index(drop=True)
    at = pd.concat([at, at.head(1).assign(model="never"), at.head(1).assign(prompt="never")])
    known = model.predict(at, groups="known")
    np.testing.assert_allclose(known["std_error"] ** 2, whole.error(phi, at, False), rtol=1e-6)
    np.testing.assert_allclose(known["df"], whole.df(phi, at, False), rtol=1e-3)
    np.testing.assert_allclose(known["predicted_df"], whole.df(phi, at, True), rtol=1e-3)
    new = at.head(2).assign(model="never", prompt="never")
    found = model.predict(new)["predicted_df"]
    np.testing.assert_allclose(found, whole.df(phi, new, True), rtol=1e-3)
