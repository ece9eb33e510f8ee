"""The binary responses that R's glmer was asked, and how closely two programs agree on them."""

import pandas as pd

from tests.analysis.places import R

rows = pd.read_csv(R / "mixed_data_crossed.csv")
cows = pd.read_csv(R / "mixed_data_cows.csv")

#: Both programs search the same function for its maximum, which is flat: an error of 1e-5 in a
#: parameter changes it by 1e-9. Both differentiate it twice for the standard errors, glmer by
#: differences of step 1e-4, which keep four digits where a variance is hardly known.
ESTIMATE = 2e-5
STD_ERROR = 3e-4
DEVIATION = 1e-4
MODE = 1e-4
LOG_LIKELIHOOD = 1e-6

CASES = {
    "cows": (cows, "ill ~ period + (1 | herd)"),
    "sign_crossed": (rows, "(gain > 1) ~ rho + depth + (1 | model) + (1 | prompt)"),
    "sign_factor": (rows, "(gain > 1) ~ kind * depth + (1 | model) + (1 | prompt)"),
    "sign_slope": (rows, "(gain > 1) ~ depth + (1 + depth | model) + (1 | prompt)"),
    "sign_nested": (rows, "(gain > 1) ~ rho + (1 | lab / model) + (1 | prompt)"),
    "sign_offset": (rows, "(gain > 1) ~ depth + offset(known) + (1 | model)"),
}
