"""Lab over geometry over scale: the whole test, from the published gains to the answer."""

import numpy as np

import thermoscope as ts


def show(title, frame):
    """Print a frame under its title."""
    print(f"\n{title}", frame.to_string(index=False, float_format="{:.3f}".format), sep="\n")


store = ts.open_store()
models = store.query("""
    SELECT model_id, IF(lab = 'EleutherAI', lab, 'other') AS heritage, suite, rho,
           log2(n_layers) AS depth, log_parameters AS size, log_gain,
           IF(log_gain < 0, 'dampens', 'expands') AS sign
      FROM published_gain
     WHERE metric = 'gain_penultimate_block'
       AND base_model_id IS NULL AND norm_position IS DISTINCT FROM 'post'
     ORDER BY model_id""")
show(f"{len(models)} base models", models)

# Mixed models: each set of predictors alone, then all together, with a random effect of the suite.
sets = {"heritage": "heritage", "geometry": "rho + depth", "scale": "size"}
formulas = {**sets, "heritage, geometry and scale": " + ".join(sets.values())}
numbers = ["term", "estimate", "conf_low", "conf_high", "df", "p_value"]
for name, terms in formulas.items():
    fit = ts.mixed(f"log_gain ~ {terms} + (1 | suite)", models)
    show(f"Mixed model: {name}", fit.tidy(["fixed"])[numbers])

# Fisher's exact test: whose last block but one dampens.
table = ts.fisher_test(models, row="heritage", column="sign")
show("Fisher's exact test", table[["contrast", *numbers[1:4], "p_value"]])


# Bootstrap over suites: the variance that each set explains alone (R squared).
def explained(rows):
    """Return R squared of the log gain on each set."""
    rows = rows.assign(heritage=rows["heritage"] == "other")
    y = rows["log_gain"] - rows["log_gain"].mean()
    x = {name: rows[terms.split(" + ")].astype(float) for name, terms in sets.items()}
    fitted = {s: (c := x[s] - x[s].mean()) @ np.linalg.lstsq(c, y, rcond=None)[0] for s in x}
    return {name: (each @ each) / (y @ y) for name, each in fitted.items()}


drawn = ts.bootstrap(models, explained, cluster="suite", n=999)
show("R squared, bootstrap over suites", drawn[["term", "estimate", *drawn.columns[3:7], "seed"]])
print(drawn["note"].iloc[0])

# Claim 20, the order itself: its verdict, and how often simulated data get each verdict.
show("Claim 20", store.query("SELECT claim_id, verdict FROM verdict WHERE claim_id = 20"))
rates = store.query("""
    SELECT truth, verdict, probability FROM verdict_rate
     WHERE claim_id = 20 AND NOT wrong_labels AND probability > 0 ORDER BY ALL""")
show("Claim 20 in simulated data, by what explains the gains", rates)
