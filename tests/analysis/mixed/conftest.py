"""Models of the comparison with R, fitted once, and R's theta in this package's order."""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from tests.analysis.mixed.at_theta import at_theta, plain
from tests.analysis.mixed.glmer import CASES
from tests.analysis.places import R

FORMULAS = {
    "sleep_correlated": "Reaction ~ Days + (1 + Days | Subject)",
    "sleep_uncorrelated": "Reaction ~ Days + (1 + Days || Subject)",
    "penicillin": "diameter ~ 1 + (1 | plate) + (1 | sample)",
    "dyestuff": "Yield ~ 1 + (1 | Batch)",
    "dyestuff2": "Yield ~ 1 + (1 | Batch)",
    "cake": "angle ~ recipe * temp + (1 | recipe:replicate)",
    "cake_nested": "angle ~ recipe + temp + (1 | replicate/recipe)",
    "cake_factor": "angle ~ recipe * temperature + (1 | recipe:replicate)",
    "machines_nested": "score ~ Machine + (1 | Worker/Machine)",
    "machines_factor": "score ~ Machine + (0 + Machine | Worker)",
    "crossed_intercepts": "gain ~ rho + depth + (1 | lab) + (1 | model) + (1 | prompt)",
    "crossed_correlated": "gain ~ rho + depth + kind + (1 | lab) + (1 + depth | model)"
    " + (1 | prompt)",
    "crossed_uncorrelated": "gain ~ rho + depth + (1 | lab) + (1 + depth || model) + (1 | prompt)",
    "crossed_nested": "gain ~ rho + depth + (1 | lab/model) + (1 | prompt)",
    "crossed_cells": "gain ~ rho + depth + (1 | model) + (1 | prompt) + (1 | model:prompt)",
    "crossed_interaction": "gain ~ kind * depth + log(rho) + I(depth^2) + (1 | model)"
    " + (1 | prompt)",
    "crossed_weights": "gain ~ rho + depth + (1 | lab) + (1 + depth | model) + (1 | prompt)",
    "crossed_offset": "gain ~ rho + depth + offset(known) + (1 | model) + (1 | prompt)",
    "crossed_cell_means": "gain ~ 0 + kind + depth + (1 | model) + (1 | prompt)",
    "flat_singular": "gain ~ depth + (1 | lab) + (1 + depth | model) + (1 | prompt)",
    "shifted": "gain ~ rho + depth + (1 | lab) + (1 + depth | model) + (1 | prompt)",
}


class AgainstR:
    """R's answers, and the same models fitted here."""

    formulas = FORMULAS
    glances = pd.read_csv(R / "mixed_glance.csv")
    fixed = pd.read_csv(R / "mixed_fixed.csv")
    modes = pd.read_csv(R / "mixed_modes.csv")
    pars = pd.read_csv(
        R / "mixed_pars.csv",
        keep_default_na=False,
        na_values={"sdcor": ["NA", "NaN"], "covariance": ["NA"]},
    )
    joint = pd.read_csv(R / "mixed_joint.csv")
    likelihood_ratio = pd.read_csv(R / "mixed_likelihood_ratio.csv")
    thetas = pd.read_csv(R / "mixed_theta.csv")

    def rows(self, name):
        """Return the data of a model."""
        data = self.glances.set_index("name")["data"].groupby(level=0).first()[name]
        return pd.read_csv(R / f"mixed_data_{data}.csv")

    def answer(self, table, name, estimator):
        """Return R's rows of a table for one model."""
        rows = getattr(self, table)
        chosen = rows[(rows["name"] == name) & (rows["estimator"] == estimator)]
        return chosen.reset_index(drop=True)

    def __init__(self):
        self._fits = {}

    def fitted(self, name, estimator):
        """Return the model fitted here, once."""
        if (name, estimator) not in self._fits:
            weights = "precision" if name == "crossed_weights" else None
            self._fits[name, estimator] = mixed.fit(
                FORMULAS[name], self.rows(name), reml=estimator == "REML", weights=weights
            )
        return self._fits[name, estimator]

    def at_r(self, name, estimator):
        """Return the model at R's theta."""
        model = self.fitted(name, estimator)
        answer = self.answer("thetas", name, estimator)
        known = map(plain_label, answer["label"])
        by_label = dict(zip(known, answer["theta"], strict=True))
        labels = [
            f"{block.group}." + ".".join(dict.fromkeys(block.columns[k].name for k in place))
            for block in model.design.blocks
            for place in block.positions
        ]
        return at_theta(model, np.array([by_label[plain_label(label)] for label in labels]))


def plain_label(label):
    """Return the group and the effects of an element of theta, in any order."""
    group, *effects = label.split(".")
    # lme4 names the second term of a group model.1; the effect tells them apart.
    effects = [effect for effect in effects if not effect.isdigit()]
    return plain(group), *sorted(plain(effect) for effect in effects)


@pytest.fixture(scope="session")
def against_r():
    """Return R's answers beside ours."""
    return AgainstR()


@pytest.fixture(scope="session")
def binomial_models():
    return {name: mixed.fit_binomial(formula, frame) for name, (frame, formula) in CASES.items()}
