"""Linear mixed models from sufficient statistics: exact as lme4, at any number of rows.

One GROUP BY sums the products of the predictors and the response in every cell of the factors
(`formula`, `plan`, `statistics`); the design is a map over cells (`design`, `crossproducts`);
the likelihood, its optimum and everything inferred from it (`deviance`, `optimise`,
`estimates`, `satterthwaite`, `kenward_roger`, ...) never look at a row again.
"""

from analysis.mixed.model import (
    MixedModel,
    collect_statistics,
    fit,
    fit_many,
    fit_statistics,
)

__all__ = ["MixedModel", "collect_statistics", "fit", "fit_many", "fit_statistics"]
