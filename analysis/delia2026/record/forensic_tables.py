"""The frames behind the report's section on what is printed, each named for its row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from analysis.audit import evidence
from analysis.audit.evidence import digitised, quoted
from analysis.delia2026.record import claims_captions as captions
from analysis.delia2026.transition import l_star
from analysis.forensics import granularity, mape, p_value, rounding, table_search
from analysis.store import Store
from analysis.tidy import prose

#: Numbers of models tried for a printed share: no set of models is larger.
MOST_MODELS = 40


def recomputed(store: Store) -> pd.DataFrame:
    """Return one row per printed number that follows from other printed ones.

    Columns: `place`, `printed`, `follows` (in words), `agrees` (yes or no). No rows
    without the quoted numbers.
    """
    rows = []
    for make in (_correlation, _traces, _fine_tuning, _accuracy, _heritage, _layer_error):
        try:
            rows += list(make(store))
        except LookupError:
            continue
    return pd.DataFrame(rows, columns=["place", "printed", "follows", "agrees"])


def agreeing(rows: pd.DataFrame) -> tuple[str, str]:
    """Return how many printed numbers agree with the others, and of how many, as text."""
    return prose.count(int((rows["agrees"] == "yes").sum())), prose.count(len(rows))


def bars(store: Store) -> tuple[str, str]:
    """Return how many bars of Fig. 2 are shown to be standard errors, and of how many, as text."""
    checks = captions.standard_errors(store)
    shown = {check.part for check in checks if check.holds}
    return prose.count(len(shown)), prose.count(len({check.part for check in checks}))


def shares_of_the_hunt(store: Store) -> dict[str, str]:
    """Return the p that the printed shares have with the file's numbers of models, as text.

    Keys: `eleuther` and `others` (models in the file), `p`. Empty without the quoted numbers.
    """
    gains = evidence.published_gains(store, "gain_penultimate_block", [evidence.HUNT])
    ours = int((gains["lab"] == "EleutherAI").sum())
    sizes = (ours, len(gains) - ours)
    try:
        shares, p = _shares(store)
    except LookupError:
        return {}
    tables = table_search.tables(shares, p, sizes=sizes)
    value = float(tables["p_value"].max())
    return {"eleuther": str(ours), "others": str(sizes[1]), "p": prose.power_of_ten(value, 1)}


Rows = Iterator[dict[str, str]]


def _row(place: str, printed: str, text: str, *, agrees: bool) -> dict[str, str]:
    return {
        "place": place,
        "printed": printed,
        "follows": text,
        "agrees": "yes" if agrees else "no",
    }


def _either(sizes: NDArray[Any]) -> str:
    return prose.listing([prose.count(size) for size in sizes]).replace(" and ", " or ")


def _correlation(store: Store) -> Rows:
    r = quoted.text(store, "Fig. 1", "correlation", "Pythia")
    p = quoted.text(store, "Fig. 1", "p_value", "Pythia")
    n = int(quoted.text(store, "§4.1", "n_models", "Pythia"))
    fitting = p_value.possible_df("r", rounding.read(r), rounding.read(p)) + 2
    low, high = p_value.p_range("r", rounding.read(r), n - 2)
    text = f"p of {low:.3f} to {high:.3f}; r and p agree for n = {_either(fitting)} alone"
    agrees = n in fitting
    yield _row("Fig. 1", f"r = {r}, p {p}, {n} models", text, agrees=agrees)


def _traces(store: Store) -> Rows:
    traces = [
        quoted.text(store, "§5.2.3", "trace_multi_head", name)
        for name in ("openai-community/gpt2", "facebook/opt-125m")
    ]
    times = quoted.text(store, "§5.2.3", "trace_ratio")
    yield _derive("§5.2.3", rounding.ratio, (traces[0], traces[1]), times, joint="against")


def _fine_tuning(store: Store) -> Rows:
    gains = [quoted.text(store, "§5.5", "gain", f"google/gemma-7b{end}") for end in ("", "-it")]
    change = quoted.text(store, "§5.5", "gain_change")
    yield _derive(
        "§5.5", rounding.percent_change, (gains[0], gains[1]), change, joint="to", unit=" %"
    )


def _derive(
    place: str,
    derive: Callable[[str, str, str], pd.DataFrame],
    parts: tuple[str, str],
    printed: str,
    *,
    joint: str,
    unit: str = "",
) -> dict[str, str]:
    row = derive(*parts, printed).iloc[0]
    text = f"{row['value_low']:.2f} to {row['value_high']:.2f}{unit}"
    words = f"{parts[0]} {joint} {parts[1]}: {printed}{unit}"
    return _row(place, words, text, agrees=bool(row["consistent"]))


def _accuracy(store: Store) -> Rows:
    share = quoted.text(store, "App. B", "prediction_accuracy", "with the final norm")
    sizes = granularity.denominators(share, MOST_MODELS)["n_obs"].unique()
    text = f"a share of {_either(sizes)} models"
    yield _row("App. B", f"{share} %", text, agrees=len(sizes) > 0)


def _shares(store: Store) -> tuple[list[str], str]:
    """Return the printed shares of dampening models of both groups, and the printed p."""
    dampening = quoted.text(store, "§4.2", "share_dampening", "EleutherAI")
    expanding = quoted.text(store, "§4.2", "share_expanding", "all other labs")
    other = str(100 - int(rounding.read(expanding).value))
    return [dampening, other], quoted.text(store, "§4.2", "p_value")


def _heritage(store: Store) -> Rows:
    n = int(quoted.text(store, "§1.2", "n_models"))
    shares, p = _shares(store)
    tables = table_search.tables(shares, p, n=n)
    ours = tables[tables["group"] == 0]
    sizes = ours.loc[ours["consistent"], "n_obs"].to_numpy()
    text = f"{len(ours)} tables; this p with {_either(sizes)} models of EleutherAI"
    words = f"{shares[0]} % against {shares[1]} % dampening, p {p}, {n} models"
    yield _row("§4.2", words, text, agrees=bool(ours["consistent"].any()))


def _layer_error(store: Store) -> Rows:
    error = quoted.text(store, "§5.3", "l_star_error", "six models of four labs")
    points = digitised.points(store, "Fig. 5")
    if points.empty:
        return
    pairs = zip(points["n_layers"], points["n_heads"], strict=True)
    cases = pd.DataFrame(
        {
            "predicted": [l_star.formula(*pair) for pair in pairs],
            "observed": points["value"].astype("float64"),
            "size": points["n_layers"].astype("float64"),
        }
    )
    errors = mape.definitions(cases, error).set_index("term")
    named = errors.index[errors["consistent"]]
    matching = prose.listing([f"{term}, size the depth" for term in named]) or "no usual error"
    text = f"{matching}; a true MAPE is {errors['estimate'][mape.MAPE]:.1f} %"
    yield _row("§5.3", f"MAPE {error} %", text, agrees=bool(errors["consistent"][mape.MAPE]))
