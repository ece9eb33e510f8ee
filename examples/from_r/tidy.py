"""The same analysis as tidy.R, which uses dplyr, tidyr, purrr, broom and lmerTest."""

import thermoscope as ts

models = ts.open_store().query("""
    SELECT model_id, lab, suite, log2(n_layers) AS depth, ln(gain_penultimate_block) AS log_gain
      FROM published_model
     WHERE base_model_id IS NULL AND gain_penultimate_block IS NOT NULL ORDER BY model_id
""")


def show(table):
    """Print a table as R does."""
    print(table.to_string(index=False, float_format="{:.6g}".format))


# Group and summarise.
models.groupby("suite", as_index=False).agg(
    n=("log_gain", "size"),
    mean=("log_gain", "mean"),
    below=("log_gain", lambda gains: (gains < 0).sum()),
).sort_values("mean").pipe(show)

# One regression per suite, as one frame.
models.groupby("suite").filter(lambda d: len(d) > 2).groupby("suite").apply(
    lambda d: ts.least_squares(d, "log_gain ~ depth").tidy(), include_groups=False
).reset_index("suite").query("term == 'depth'")[["suite", "estimate", "std_error", "p_value"]].pipe(
    show
)

# A mixed model, and residuals beside the rows.
fitted = ts.mixed("log_gain ~ depth + (1 | suite)", models)
fitted.tidy(["fixed"])[["estimate", "std_error", "df", "p_value"]].pipe(show)
models.assign(residual=fitted.augment()["residual"]).sort_values(
    "residual", key=abs, ascending=False
).head(3)[["model_id", "residual"]].pipe(show)
