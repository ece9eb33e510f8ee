"""Tests of linear contrasts of the fixed effects, with the degrees of freedom asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import special

from analysis.mixed.algebra.crossproducts import CrossProducts
from analysis.mixed.algebra.design import Block
from analysis.mixed.algebra.deviance import Profile, profile
from analysis.mixed.algebra.estimates import (
    Information,
    Modes,
    conditional_modes,
    covariances,
    fixed_covariance,
    information,
)
from analysis.mixed.inference.kenward_roger import KenwardRoger, kenward_roger
from analysis.mixed.inference.satterthwaite import Satterthwaite, satterthwaite
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, require_option

METHODS = ("kenward-roger", "satterthwaite", "wald")

#: How a table names the reference distribution.
NAMES = {
    "kenward-roger": "Kenward-Roger t",
    "satterthwaite": "Satterthwaite t",
    "wald": "Wald z",
}

#: Other names of the methods, in small letters and without marks between words.
ALIASES = {
    "kr": "kenward-roger",
    "kenwardroger": "kenward-roger",
    "satterth": "satterthwaite",
}

#: Fewer degrees of freedom than this are none but for rounding.
LEAST_DF = 1e-6


def method_named(name: str) -> str:
    """Return a method by any of its names, such as ``KR`` or ``Kenward-Roger``."""
    plain = "".join(letter for letter in str(name).lower() if letter.isalpha())
    method = ALIASES.get(plain, plain)
    require_option("df", method if method in METHODS else name, METHODS)
    return method


@dataclass(frozen=True, slots=True)
class ContrastTests:
    """Tests of single contrasts; arrays run over the contrasts."""

    estimates: Floats  #: Values of the contrasts.
    std_errors: Floats  #: Standard errors.
    df: Floats  #: Degrees of freedom, infinite for a z test.

    @property
    def columns(self) -> dict[str, Floats]:
        """The columns of a table about them."""
        return {
            "estimate": self.estimates,
            "std_error": self.std_errors,
            "statistic": self.statistics,
            "df": self.df,
            "p_value": self.p_values,
        }

    @property
    def statistics(self) -> Floats:
        """Estimates over their standard errors."""
        return self.estimates / self.std_errors

    @property
    def p_values(self) -> Floats:
        """Two-sided p-values."""
        return t_p_value(self.statistics, self.df)

    def interval(self, conf_level: float) -> tuple[Floats, Floats]:
        """Return the ends of the intervals."""
        reach = t_quantile((1 + conf_level) / 2, self.df) * self.std_errors
        return self.estimates - reach, self.estimates + reach


@dataclass(frozen=True, slots=True)
class JointTest:
    """F test that several contrasts are all zero."""

    statistic: float  #: F, scaled as the method says.
    df: int  #: Numerator degrees of freedom.
    df_residual: float  #: Denominator degrees of freedom.

    @property
    def p_value(self) -> float:
        """Upper tail of the F distribution."""
        return f_p_value(self.statistic, self.df, self.df_residual)


class FixedTests(Protocol):
    """What tests of the fixed effects of any model can be asked; see `Inference`."""

    @property
    def coefficients(self) -> Floats:
        """Fixed effects, shape (p,)."""
        ...

    def covariance(self, method: str) -> Floats:
        """Return the covariance of the fixed effects that a method uses, shape (p, p)."""
        ...

    def tests(self, contrasts: Floats, method: str) -> ContrastTests:
        """Return the tests of contrasts, shape (m, p), each on its own."""
        ...

    def joint(self, contrasts: Floats, method: str) -> JointTest:
        """Return the F test that contrasts, shape (m, p), are all zero."""
        ...


@dataclass(frozen=True, slots=True)
class WaldTests:
    """Fixed effects whose only reference is the normal: those of a binary response."""

    coefficients: Floats  #: Fixed effects, shape (p,).
    inverse_information: Floats  #: Their covariance, shape (p, p).

    def covariance(self, method: str) -> Floats:
        """Return the covariance; the method is Wald's."""
        require_option("df", method, ("wald",))
        return self.inverse_information

    def tests(self, contrasts: Floats, method: str) -> ContrastTests:
        """Return the z tests of contrasts, shape (m, p), each on its own."""
        covariance = self.covariance(method)
        variances = np.einsum("ma,ab,mb->m", contrasts, covariance, contrasts)
        return ContrastTests(
            contrasts @ self.coefficients, np.sqrt(variances), np.full(len(contrasts), np.inf)
        )

    def joint(self, contrasts: Floats, method: str) -> JointTest:
        """Return chi-squared over its df, as an F of infinite denominator."""
        # Independent contrasts over their standard errors.
        values, vectors = np.linalg.eigh(contrasts @ self.covariance(method) @ contrasts.T)
        usable = values > 1e-12 * values.max()
        along = vectors[:, usable].T @ (contrasts @ self.coefficients) / np.sqrt(values[usable])
        along, q = np.asarray(along, dtype=np.float64), int(usable.sum())
        return JointTest(float(along @ along) / q, q, np.inf)


@dataclass(frozen=True)
class Inference:
    """A fit's fixed effects and all that their tests need, computed when first asked for."""

    cross: CrossProducts  #: The cross-products.
    solution: Profile  #: The solution at theta.
    reml: bool  #: Whether the fit is by restricted maximum likelihood.

    @classmethod
    def at(cls, cross: CrossProducts, theta: Floats, *, reml: bool) -> Inference:
        """Return the estimates at a theta, and what their tests need."""
        solution = profile(cross, np.asarray(theta, dtype=np.float64), reml=reml)
        return cls(cross, solution, reml)

    @property
    def coefficients(self) -> Floats:
        """Fixed effects, shape (p,)."""
        cross = self.cross
        return np.asarray(cross.centring @ self.solution.coefficients + cross.shift)

    @cached_property
    def plain_covariance(self) -> Floats:
        """Covariance of the fixed effects at theta, shape (p, p)."""
        return fixed_covariance(self.cross, self.solution)

    @property
    def covariances(self) -> list[tuple[Block, Floats]]:
        """Estimated covariances of the random effects by grouping factor, (k, k) each."""
        return covariances(self.cross, self.solution)

    @cached_property
    def modes(self) -> tuple[Modes, ...]:
        """Conditional modes of the random effects by grouping factor."""
        return conditional_modes(self.cross, self.solution)

    @cached_property
    def products(self) -> Information:
        """Products with the inverse covariance."""
        return information(self.cross, self.solution)

    @cached_property
    def satterthwaite(self) -> Satterthwaite:
        """What Satterthwaite's degrees of freedom follow from."""
        return satterthwaite(self.cross, self.solution, self.products, reml=self.reml)

    @cached_property
    def kenward_roger(self) -> KenwardRoger:
        """What Kenward and Roger's test follows from."""
        if not self.reml:
            raise DesignError(
                "Kenward-Roger's method must have a REML fit; this one is by maximum likelihood.",
                "Fit with reml=True, or ask for df='satterthwaite'.",
            )
        return kenward_roger(self.cross, self.solution, self.products)

    def covariance(self, method: str) -> Floats:
        """Return the covariance of the fixed effects that a method uses, shape (p, p)."""
        return self.kenward_roger.adjusted if _is_kr(method) else self.plain_covariance

    def tests(self, contrasts: Floats, method: str) -> ContrastTests:
        """Return the tests of contrasts, shape (m, p), each on its own."""
        require_option("df", method, METHODS)
        covariance = self.covariance(method)
        variances = np.einsum("ma,ab,mb->m", contrasts, covariance, contrasts)
        if not (variances > 0).all():
            raise DesignError(
                f"The variance of every contrast must be positive; by {NAMES[method]} the smallest "
                f"is {float(variances.min())!r}.",
                "The fit leaves too little to estimate it from: use fewer terms.",
            )
        if method == "wald":
            df = np.full(len(contrasts), np.inf)
        else:
            known = self.kenward_roger if _is_kr(method) else self.satterthwaite
            df = np.array([known.df(contrast) for contrast in contrasts])
            if not (df > LEAST_DF).all():
                raise DesignError(
                    f"A {NAMES[method]} test needs degrees of freedom; some contrast has "
                    f"{df.min():.2g}.",
                    "The groups say too little about its uncertainty: use fewer random effects.",
                )
        return ContrastTests(contrasts @ self.coefficients, np.sqrt(variances), df)

    def joint(self, contrasts: Floats, method: str) -> JointTest:
        """Return the F test that contrasts, shape (m, p), are all zero."""
        require_option("df", method, METHODS)
        values, vectors = np.linalg.eigh(contrasts @ self.covariance(method) @ contrasts.T)
        usable = values > 1e-12 * values.max()
        rotated = vectors[:, usable].T @ contrasts
        q = int(usable.sum())
        along = rotated @ self.coefficients
        statistic = float((along**2 / values[usable]).sum()) / q
        if _is_kr(method):
            df, scale = self.kenward_roger.joint(rotated)
            return JointTest(scale * statistic, q, df)
        df = np.inf if method == "wald" else self.satterthwaite.df_joint(rotated)
        return JointTest(statistic, q, df)


def _is_kr(method: str) -> bool:
    return method == "kenward-roger"


# Tails and quantiles straight from scipy.special: the distribution objects of scipy.stats give the
# same numbers and cost a second to import.


def t_p_value(statistic: Floats, df: Floats) -> Floats:
    """Return the two-sided p-value of t; infinite degrees of freedom are the normal's."""
    size = -np.abs(statistic)
    finite = np.where(np.isfinite(df), df, 1.0)
    tail = np.where(np.isposinf(df), special.ndtr(size), special.stdtr(finite, size))
    return np.asarray(np.where(np.isnan(df), np.nan, 2 * tail), dtype=np.float64)


def t_quantile(probability: float, df: Floats) -> Floats:
    """Return the quantile of t; infinite degrees of freedom are the normal's."""
    finite = np.where(np.isfinite(df), df, 1.0)
    normal = special.ndtri(probability)
    quantile = np.where(np.isposinf(df), normal, special.stdtrit(finite, probability))
    return np.asarray(np.where(np.isnan(df), np.nan, quantile), dtype=np.float64)


def chi_squared_p_value(statistic: float, df: float) -> float:
    """Return the upper tail of chi-squared."""
    return float(special.chdtrc(df, statistic))


def chi_squared_quantile(probability: float, df: float) -> float:
    """Return the quantile of chi-squared."""
    return float(special.chdtri(df, 1 - probability))


def f_p_value(statistic: float, df: float, df_residual: float) -> float:
    """Return the upper tail of F; infinite denominator degrees of freedom are chi-squared's."""
    if np.isinf(df_residual):
        return chi_squared_p_value(df * statistic, df)
    return float(special.fdtrc(df, df_residual, statistic))
