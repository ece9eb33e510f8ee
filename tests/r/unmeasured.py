"""Write the sensitivity statistics of PySensemakr beside this file; run here, not by the tests.

Needs ``pip install PySensemakr`` (written with 0.0.8); reads nothing. The first row is the
Darfur example of Cinelli and Hazlett (2020), section 5: estimate .097, standard error .023,
t 4.184, 783 degrees of freedom, robustness value 13.9 %, at the 5 % level 7.6 %.
"""

import numpy as np
import pandas as pd
import sensemakr as oracle
from sensemakr.sensitivity_bounds import ovb_partial_r2_bound

CASES = [
    # estimate, std_error, df, q, alpha, partial R2 of a benchmark: with treatment, with outcome
    (0.09731582, 0.02325654, 783, 1.0, 0.05, 0.009164, 0.108877),
    (0.09731582, 0.02325654, 783, 0.5, 0.05, 0.02, 0.05),
    (-0.18, 0.03, 14, 1.0, 0.05, 0.3, 0.2),
    (5.0, 0.4, 8, 1.0, 0.05, 0.1, 0.4),
    (0.1, 0.2, 20, 1.0, 0.05, 0.25, 0.25),
]

rows = []
for estimate, std_error, df, q, alpha, with_treatment, with_outcome in CASES:
    t = pd.Series([estimate / std_error], index=[0])
    bound = ovb_partial_r2_bound(
        r2dxj_x=[with_treatment],
        r2yxj_dx=[with_outcome],
        benchmark_covariates=["benchmark"],
        kd=np.array([1.0, 2.0]),
        ky=np.array([1.0, 2.0]),
    )
    for place, times in enumerate((1.0, 2.0)):
        r2_treatment = float(bound["r2dz_x"].iloc[place])
        r2_outcome = float(bound["r2yz_dx"].iloc[place])
        known = {"estimate": estimate, "se": std_error, "dof": df}
        rows.append(
            {
                "estimate": estimate,
                "std_error": std_error,
                "df": df,
                "q": q,
                "alpha": alpha,
                "benchmark_treatment": with_treatment,
                "benchmark_outcome": with_outcome,
                "times": times,
                "robustness_value": float(
                    oracle.robustness_value(t_statistic=t, dof=df, q=q).iloc[0]
                ),
                "robustness_value_alpha": float(
                    oracle.robustness_value(t_statistic=t, dof=df, q=q, alpha=alpha).iloc[0]
                ),
                "r_squared_treatment": r2_treatment,
                "r_squared_outcome": r2_outcome,
                "adjusted": float(oracle.adjusted_estimate(r2_treatment, r2_outcome, **known)),
                "adjusted_error": float(
                    oracle.adjusted_se(r2_treatment, r2_outcome, se=std_error, dof=df)
                ),
            }
        )
pd.DataFrame(rows).to_csv("unmeasured.csv", index=False, float_format="%.17g")
