"""Papers with planted truths on the real design, judged by the rule that judges the real one.

A simulated paper has the models, suites, labs, shapes and sizes of the real one, and log gains in
which one thing rules. Its sentences are those of the central claims. What each check would find is
computed for all papers at once; the verdict is that of `analysis.claims.verdict.claim.verdict`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analysis import evidence
from analysis.claims.sign import density, heritage, ranking
from analysis.claims.verdict.claim import VERDICTS, verdict
from analysis.evidence import decision
from analysis.evidence.checks import Check
from analysis.inference.partition import partition
from analysis.store import Store
from analysis.tidy.frame import Floats

Bools = NDArray[np.bool_]

#: What rules the gains of a paper.
TRUTHS = ("heritage", "depth", "recipe", "nothing")
#: The central claims about gains; the others of that weight rest on weights or on tuned models.
JUDGED = (4, 7, 16, 20)
#: Standard deviation of log gain over models [nat], as in the penultimate blocks of the paper.
SPREAD = 0.12
#: Share of the variance that belongs to what rules.
RULING = 0.8
#: Correlation of what does not rule between two definitions of gain.
SHARED = 0.7
DEFINITIONS = ("penultimate", "largest", "over_blocks")


@dataclass(frozen=True, slots=True)
class Design:
    """The models of the paper.

    Attributes
    ----------
    models
        One row per base model with a gain: `model_id`, `lab`, `suite`, `n_layers`, `rho`, `d_head`,
        `log_parameters`, `norm_position`.
    hunted, penultimate
        Which of them the hunt has, and which have a gain of the penultimate block, shape (models,).
    """

    models: pd.DataFrame
    hunted: Bools
    penultimate: Bools

    @property
    def kept(self) -> Bools:
        """Which models are not post-norm, shape (models,)."""
        return np.asarray(self.models["norm_position"] != "post")

    @property
    def ours(self) -> Bools:
        """Which models are EleutherAI's, shape (models,)."""
        return np.asarray(self.models["lab"] == "EleutherAI")

    def numbers(self, name: str) -> Floats:
        """Return a column as floats, shape (models,)."""
        return self.models[name].to_numpy(dtype=np.float64)


def design_of(store: Store) -> Design:
    """Return the models of the paper that a store holds."""
    models = evidence.penultimate_or_last(store)
    sets = heritage.readings(store)
    hunted, every = (
        models["model_id"].isin(sets[name]["model_id"]).to_numpy()
        for name in (heritage.HUNT, heritage.EVERY)
    )
    return Design(models, hunted, every)


def papers(
    design: Design, truth: str, n_papers: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return log gains of simulated papers by definition, shape (papers, models) each [nat]."""
    n_models = len(design.models)
    effect = _effect(design, truth, n_papers, rng)
    ruled = effect.std(axis=1, keepdims=True) > 0
    shared = rng.standard_normal((n_papers, n_models))
    rest = SPREAD * np.sqrt(np.where(ruled, 1 - RULING, 1.0))
    found = {}
    for name in DEFINITIONS:
        own = rng.standard_normal((n_papers, n_models))
        noise = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own
        found[name] = SPREAD * np.sqrt(RULING) * effect + rest * noise
    return found


def _effect(design: Design, truth: str, n_papers: int, rng: np.random.Generator) -> Floats:
    """Return what rules, with mean 0 and standard deviation 1 over models in each paper."""
    if truth == "heritage":
        effect = np.tile(-design.ours.astype(np.float64), (n_papers, 1))
    elif truth == "depth":
        effect = np.tile(-np.log(design.numbers("n_layers")), (n_papers, 1))
    elif truth == "recipe":
        codes, suites = pd.factorize(design.models["suite"])
        effect = rng.standard_normal((n_papers, len(suites)))[:, codes]
    else:
        effect = np.zeros((n_papers, len(design.models)))
    centred = effect - effect.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    return np.asarray(centred / np.where(spread > 0, spread, 1))


def checks(
    design: Design, log_gains: Mapping[str, Floats], rng: np.random.Generator
) -> dict[int, list[list[Check]]]:
    """Return the checks of each judged claim, one list a paper, from its log gains by definition.

    The labels are right: a paper with wrong ones prints the correlation of head density as that of
    depth, which only claim 4 notices, since all others are judged by measured signs.
    """
    return {
        4: _depth(design, log_gains, wrong_labels=False),
        7: _heritage(design, log_gains["penultimate"]),
        16: _density(design, log_gains["penultimate"]),
        20: _ranking(design, log_gains, rng),
    }


def rates(
    design: Design, n_papers: int, rng: np.random.Generator, kinds: Mapping[int, decision.Kind]
) -> pd.DataFrame:
    """Return how often each verdict falls under each truth.

    Parameters
    ----------
    design
        See `design_of`.
    n_papers
        Papers of each truth, with right and with wrong labels.
    rng
        Source of the gains and of the resamples of suites.
    kinds
        Kind of statement of each judged claim.

    Returns
    -------
    One row per claim, truth, labels and verdict: `claim_id`, `truth`, `wrong_labels`, `verdict`,
    `probability` and `n_papers`.
    """
    rows = []
    for truth in TRUTHS:
        drawn = papers(design, truth, n_papers, rng)
        judged: dict[int, list[str]] = {}
        made = checks(design, drawn, rng)
        for wrong in (False, True):
            made[4] = _depth(design, drawn, wrong_labels=wrong)
            for claim_id, of_papers in made.items():
                if claim_id == 4 or not wrong:
                    judged[claim_id] = [verdict(one, kinds[claim_id]) for one in of_papers]
                found = pd.Series(judged[claim_id])
                counted = found.value_counts()
                rows += [
                    (claim_id, truth, wrong, word, counted.get(word, 0) / n_papers, n_papers)
                    for word in VERDICTS
                ]
    columns = ["claim_id", "truth", "wrong_labels", "verdict", "probability", "n_papers"]
    return pd.DataFrame(rows, columns=columns)


def _listed(columns: Sequence[Sequence[Check]]) -> list[list[Check]]:
    """Turn one sequence of papers a check into one list of checks a paper."""
    return [list(of_paper) for of_paper in zip(*columns, strict=True)]


def _correlated(x: Floats, y: Floats, given: Floats | None = None) -> tuple[Floats, ...]:
    """Return r of x with each row of y, its 95 % interval by Fisher's z, and p; shape (papers,)."""
    n, held = len(x), 0 if given is None else 1
    basis = np.ones((n, 1)) if given is None else np.column_stack([np.ones(n), given])
    basis = np.linalg.qr(basis)[0]
    left_x, left_y = x - basis @ (basis.T @ x), y - (y @ basis) @ basis.T
    r = (left_y @ left_x) / np.sqrt((left_y**2).sum(axis=1) * (left_x @ left_x))
    reach = stats.norm.ppf(0.975) / np.sqrt(n - 3 - held)
    df = n - 2 - held
    p = 2 * stats.t.sf(np.abs(r) * np.sqrt(df / (1 - r**2)), df)
    return r, np.tanh(np.arctanh(r) - reach), np.tanh(np.arctanh(r) + reach), p


def _falling(part: str, condition: str, found: tuple[Floats, ...], n: int) -> list[Check]:
    return [
        Check(part, condition, decision.below(low, high, 0), r, low, high, p, n)
        for r, low, high, p in zip(*found, strict=True)
    ]


def _depth(
    design: Design, log_gains: Mapping[str, Floats], *, wrong_labels: bool
) -> list[list[Check]]:
    """Return the checks of claim 4: gain falls with depth in Pythia, and the printed r is right."""
    pythia = np.asarray(design.models["suite"] == "Pythia") & design.penultimate
    readings = {name: np.exp(log_gains[name][:, pythia]) for name in ("penultimate", "largest")}
    depth, rho = (design.numbers(name)[pythia] for name in ("n_layers", "rho"))
    found = {name: _correlated(depth, gains) for name, gains in readings.items()}
    printed = _correlated(rho if wrong_labels else depth, readings["penultimate"])[0]
    n = int(pythia.sum())
    falls = [_falling("falls", name, rows, n) for name, rows in found.items()]
    quoted = [
        [
            Check("printed", name, decision.prints_as(r, f"{said:.2f}"), kind="value")
            for r, said in zip(rows[0], printed, strict=True)
        ]
        for name, rows in found.items()
    ]
    return _listed([*falls, *quoted[:1]])


def sets(design: Design) -> dict[str, Bools]:
    """Return which models are in each reading of claim 7, as `heritage.readings` has them."""
    every, joined = design.penultimate, np.ones(len(design.models), dtype=bool)
    return {
        "hunt": design.hunted,
        "hunt, kept": design.hunted & design.kept,
        "hunt, clear": design.hunted,
        "every": every,
        "every, kept": every & design.kept,
        "joined": joined,
        "joined, kept": joined & design.kept,
        "joined, clear": joined,
    }


def _heritage(design: Design, log_gains: Floats) -> list[list[Check]]:
    """Return the checks of claim 7: Fisher's p, and the exact permutation of suites, below .001."""
    gains = np.exp(log_gains)
    below = gains < 1
    columns = []
    for name, chosen in sets(design).items():
        clear = np.abs(gains - 1) >= NEUTRAL if "clear" in name else np.ones_like(below)
        p_values = _fisher(below, chosen & clear, design.ours)
        columns.append([_small(f"Fisher; {name}", p) for p in p_values])
    for name in ("hunt", "every", "joined"):
        chosen = sets(design)[name]
        p_values = _exchanged(below[:, chosen], design.models[chosen])
        columns.append([_small(f"suites; {name}", p) for p in p_values])
    return _listed(columns)


#: Gains within this of 1 count as neutral.
NEUTRAL = 0.01


def _small(condition: str, p: float) -> Check:
    part = "the lab decides the sign"
    if np.isnan(p):
        return evidence.missing(part, condition, "the table has an empty margin")
    return Check(part, condition, bool(p < 0.001), p_value=float(p))


def _fisher(below: Bools, chosen: Bools, ours: Bools) -> Floats:
    """Return Fisher's p of each paper; NaN where a margin is empty."""
    cells = [
        (chosen & is_ours & side).sum(axis=1)
        for is_ours in (ours, ~ours)
        for side in (below, ~below)
    ]
    return np.array([_fisher_p(*map(int, table)) for table in zip(*cells, strict=True)])


@cache
def _fisher_p(a: int, b: int, c: int, d: int) -> float:
    if not min(a + b, c + d, a + c, b + d):
        return float("nan")
    return float(stats.fisher_exact(np.array([[a, b], [c, d]])).pvalue)


def _exchanged(below: Bools, models: pd.DataFrame) -> Floats:
    """Return the exact p of the difference in dampening with labs exchanged between suites."""
    codes, suites = pd.factorize(models["suite"])
    of_suite = np.eye(len(suites))[codes]
    shares = below @ (of_suite / of_suite.sum(axis=0))
    is_ours = models.groupby(codes)["lab"].first().to_numpy() == "EleutherAI"
    n_ours = int(is_ours.sum())
    ways = np.zeros((len(suites), 0))
    for chosen in combinations(range(len(suites)), n_ours):
        way = np.full(len(suites), -1 / (len(suites) - n_ours))
        way[list(chosen)] = 1 / n_ours
        ways = np.column_stack([ways, way])
    observed = shares @ np.where(is_ours, 1 / n_ours, -1 / (len(suites) - n_ours))
    return np.asarray((np.abs(shares @ ways) >= np.abs(observed)[:, None] - 1e-9).mean(axis=1))


def _density(design: Design, log_gains: Floats) -> list[list[Check]]:
    """Return the checks of claim 16: rho goes with the gain, and its rule tells the signs."""
    meant = design.penultimate & design.kept
    gains = np.exp(log_gains[:, meant])
    models = design.models[meant].reset_index(drop=True)
    pythia = np.asarray(models["suite"] == "Pythia")
    rho, depth = (models[name].to_numpy(dtype=np.float64) for name in ("rho", "n_layers"))
    columns = []
    for name, rows in (("Pythia", pythia), ("others", ~pythia)):
        for given in (None, depth[rows]):
            found = _correlated(rho[rows], gains[:, rows], given)
            condition = f"{name}, {'depth held' if given is not None else 'alone'}"
            columns.append(_falling("goes with rho", condition, found, int(rows.sum())))
    dense, sparse = _matched(models)
    smaller: Bools = np.all(gains[:, dense] < gains[:, sparse], axis=1)
    columns.append(
        [Check("goes with rho", "pairs", bool(all_), kind="universal") for all_ in smaller]
    )
    right = (rho >= density.THRESHOLD) == (gains < 1)
    for name, rows in (("Pythia", pythia), ("others", ~pythia)):
        hits, below = right[:, rows].sum(axis=1), (gains[:, rows] < 1).sum(axis=1)
        better = hits > np.maximum(below, rows.sum() - below)
        columns.append([Check("rule", name, bool(one), kind="universal") for one in better])
    untested = evidence.missing("rho alone", "pairs", "no such pair")
    return _listed([*columns, [untested] * len(gains)])


def _matched(models: pd.DataFrame) -> tuple[list[int], list[int]]:
    """Return the pairs of one suite and depth: places of the denser and of the other model."""
    places = [
        (one, other)
        for one, other in combinations(range(len(models)), 2)
        if all(models[name][one] == models[name][other] for name in ("suite", "n_layers"))
        and models["rho"][one] != models["rho"][other]
    ]
    ordered = [
        pair if models["rho"][pair[0]] > models["rho"][pair[1]] else pair[::-1] for pair in places
    ]
    return [dense for dense, _ in ordered], [sparse for _, sparse in ordered]


def _ranking(
    design: Design, log_gains: Mapping[str, Floats], rng: np.random.Generator
) -> list[list[Check]]:
    """Return the checks of claim 20: heritage over geometry, geometry over scale."""
    every = design.penultimate & design.kept
    readings = {
        "over_blocks": ("over_blocks", every),
        "every": ("penultimate", every),
        "hunt": ("penultimate", design.hunted & design.kept),
        "joined": ("penultimate", design.kept),
        "largest": ("largest", every),
    }
    columns = []
    for name, (definition, chosen) in readings.items():
        models = design.models[chosen].reset_index(drop=True)
        response = log_gains[definition][:, chosen]
        for meaning in ranking.HERITAGES:
            for part, found in _differences(models, response, meaning, rng).items():
                columns.append(
                    [
                        Check(part, f"{name}; {meaning}", holds, lead, p_value=p)
                        for holds, lead, p in found
                    ]
                )
    return _listed(columns)


def _differences(
    models: pd.DataFrame, response: Floats, meaning: str, rng: np.random.Generator
) -> dict[str, list[tuple[bool | None, float, float]]]:
    """Return what the two ordered differences of shares decide in each paper, their lead and p."""
    blocks = {"heritage": [meaning]} | {
        name: ranking.BLOCKS[name] for name in ("geometry", "scale")
    }
    built = partition.block_design(models.assign(y=response[0]), "y", blocks)
    subsets = [partition.subset_columns(built, subset) for subset in range(8)]
    weights = partition.shapley_weights(3)
    chance = partition.chance_shares(built)
    codes = pd.factorize(models["suite"])[0]
    groups = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    shares = np.array(
        [
            weights @ explained(subsets, response, np.concatenate([groups[code] for code in draw]))
            for draw in rng.integers(len(groups), size=(ranking.RESAMPLES, len(groups)))
        ]
    )
    decided = {}
    for part, contrast in {"first": (1, -1, 0), "second": (0, 1, -1)}.items():
        drawn = np.einsum("rbp,b->rp", shares, np.array(contrast, dtype=np.float64))
        low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
        lead = float(np.array(contrast) @ chance)
        p_values = partition.beyond_chance(drawn, lead)
        decided[part] = [
            (
                True if lowest > max(0.0, lead) else False if highest < min(0.0, lead) else None,
                float(middle),
                float(p),
            )
            for lowest, highest, middle, p in zip(
                low, high, np.nanmedian(drawn, axis=0), p_values, strict=True
            )
        ]
    return decided


def explained(subsets: Sequence[Floats], response: Floats, rows: np.ndarray) -> Floats:
    """Return R squared of every subset of columns on some rows, shape (subsets, papers)."""
    drawn = response[:, rows]
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    total = (centred**2).sum(axis=1)
    found = np.zeros((len(subsets), len(response)))
    for place, columns in enumerate(subsets):
        if columns.shape[1]:
            left, sizes, _ = np.linalg.svd(
                columns[rows] - columns[rows].mean(axis=0), full_matrices=False
            )
            basis = left[:, sizes > 1e-9 * max(sizes[0], 1e-300)]
            found[place] = ((centred @ basis) ** 2).sum(axis=1) / total
    return found
