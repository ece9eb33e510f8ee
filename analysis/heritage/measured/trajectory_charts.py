"""How the gain of a model goes with the steps of its training."""

from __future__ import annotations

from typing import cast

import altair as alt
import pandas as pd

from analysis.drawing.theme import SHAPES, WIDTH, greys, line_at, series
from analysis.store import Store
from analysis.tidy.errors import DesignError

#: Sizes of open marks that can be told apart on one spot [px²].
SIZES = (150, 45, 12)


def gains(store: Store, metric: str = "gain_body") -> pd.DataFrame:
    """Return one row per model, step, prompt set and number format: the gain there.

    Plain prompts of conforming runs, tokenised as the tokenizer does, at revisions whose step is
    known. Where revisions of several steps hold the same weights, none is taken; of several names
    of a step one is, and of several devices the processor.

    Parameters
    ----------
    store
        Opened measurements.
    metric
        Definition of gain; see table ``metric``.
    """
    return store.query(
        """
        SELECT model_id, training_step, training_tokens, prompt_set, dtype_compute,
               gain_mean, gain_sd, n_prompts
          FROM gain_trajectory
         WHERE metric = $metric
           AND training_step IS NOT NULL
           AND n_steps = 1
           AND is_conforming
           AND rendering = 'plain'
           AND special_tokens = 'default'
       QUALIFY row_number() OVER (
                   PARTITION BY model_id, training_step, prompt_set, dtype_compute
                       ORDER BY device <> 'cpu', run_id, revision_name
               ) = 1
         ORDER BY model_id, prompt_set, dtype_compute, training_step
        """,
        metric=metric,
    )


def chart(trajectory: pd.DataFrame) -> alt.LayerChart:
    """Draw gain against step, a line per number format; step 0 has its place.

    Parameters
    ----------
    trajectory
        Rows of `gains` of one model on one prompt set.

    Raises
    ------
    DesignError
        If they are of none, or of several.
    """
    models = trajectory[["model_id", "prompt_set"]].drop_duplicates()
    if len(models) != 1:
        raise DesignError(
            f"A trajectory must be of one model on one prompt set; found {len(models)}.",
            "Select the rows of one first.",
        )
    formats = sorted(trajectory["dtype_compute"].unique(), reverse=True)
    steps = sorted(trajectory["training_step"].unique().tolist())
    title = "number format"
    base = alt.Chart(trajectory).encode(
        x=alt.X(
            "training_step:Q",
            title="training [steps]",
            scale=alt.Scale(type="symlog"),
            axis=alt.Axis(values=steps, tickCount=len(steps), labelOverlap=True, grid=False),
        ),
        y=alt.Y("gain_mean:Q", title="mean gain [ratio]", scale=alt.Scale(zero=False)),
        color=alt.Color(
            "dtype_compute:N",
            title=title,
            scale=greys(formats),
            legend=alt.Legend(symbolStrokeWidth=1.5),
        ),
    )
    shape = alt.Shape("dtype_compute:N", title=title, scale=series(formats, SHAPES))
    size = alt.Size("dtype_compute:N", title=title, scale=series(formats, SIZES))
    marks = [
        base.mark_line(),
        base.mark_point(filled=False, strokeWidth=1.5, opacity=1).encode(shape=shape, size=size),
    ]
    (model_id,) = models["model_id"]
    drawn = alt.layer(line_at(1, "y"), *marks).properties(
        width=WIDTH,
        height=230,
        description=f"Mean gain of {model_id} against the step of its training, a line per number "
        "format, with the line at 1, above which the stream grows.",
    )
    return cast(alt.LayerChart, drawn)
