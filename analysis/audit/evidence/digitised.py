"""Points read off the paper's figures where no result file holds what they plot.

Figure 5 (L* of six models) and Fig. 8 (squared spectral norm of W_V per layer of six models)
have no data in the repository. Their points were read off the images (table
``digitised_point``). They are as exact as a plot can be read, about 1 % of the value, and the
figure is their only source.
"""

from __future__ import annotations

import pandas as pd

from analysis.store import Store

#: What a check names as its evidence.
EVIDENCE = "digitised_point"


def points(store: Store, figure: str) -> pd.DataFrame:
    """Return one row per point read off a figure, with the model's design.

    Parameters
    ----------
    store
        With table ``digitised_point`` and the models it names.
    figure
        Name of the figure: ``Fig. 5`` or ``Fig. 8``.

    Returns
    -------
    One row per point, by model and layer: `model_id`, `lab`, `suite`, `n_layers`, `n_heads`,
    `layer` (missing in Fig. 5), `value` [layers in Fig. 5, weight units squared in Fig. 8],
    `file`, `caveats`. No rows when the points are not there.
    """
    return store.facts(
        """
        SELECT p.model_id, m.lab, m.suite, m.n_layers, m.n_heads, p.layer, p.value,
               $evidence AS file, p.caveats
          FROM digitised_point AS p
          JOIN raw.model AS m USING (model_id)
         WHERE p.figure = $figure
         ORDER BY p.model_id, p.layer
        """,
        figure=figure,
        evidence=EVIDENCE,
    )
