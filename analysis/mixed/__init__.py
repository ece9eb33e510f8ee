"""Linear mixed models from sufficient statistics: exact as lme4, at any number of rows.

One GROUP BY sums the products of the predictors and the response in every cell of the factors
(`formula`, `plan`, `collect`); the design is a map over cells (`design`, `crossproducts`); the
likelihood and its optimum (`deviance`, `optimise`), the estimates and their tests (`estimates`,
`information`, `satterthwaite`, `kenward_roger`) and all resampling never look at a row again.
"""

from analysis.mixed.binomial import BinomialModel, fit_binomial
from analysis.mixed.frames.comparison import compare
from analysis.mixed.model import (
    MixedModel,
    collect_statistics,
    fit,
    fit_many,
    fit_statistics,
)
from analysis.mixed.reading.merge import merge_statistics, read_statistics, write_statistics
from analysis.mixed.refitting.bootstrap import (
    cluster_bootstrap,
    likelihood_ratio_bootstrap,
    parametric_bootstrap,
    r_squared_intervals,
)
from analysis.mixed.refitting.influence import leave_one_out
from analysis.mixed.refitting.permutation import permutation_test
from analysis.mixed.refitting.prediction import leave_one_out_prediction
from analysis.mixed.refitting.profile_interval import profile_intervals
from analysis.mixed.refitting.robust import cluster_robust, wild_cluster_bootstrap
from analysis.mixed.refitting.share_interval import share_intervals
from analysis.mixed.refitting.variance_test import variance_test

__all__ = [
    "BinomialModel",
    "MixedModel",
    "cluster_bootstrap",
    "cluster_robust",
    "collect_statistics",
    "compare",
    "fit",
    "fit_binomial",
    "fit_many",
    "fit_statistics",
    "leave_one_out",
    "leave_one_out_prediction",
    "likelihood_ratio_bootstrap",
    "merge_statistics",
    "parametric_bootstrap",
    "permutation_test",
    "profile_intervals",
    "r_squared_intervals",
    "read_statistics",
    "share_intervals",
    "variance_test",
    "wild_cluster_bootstrap",
    "write_statistics",
]
