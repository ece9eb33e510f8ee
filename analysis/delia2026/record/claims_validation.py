"""What the author says of his own work: reproducible, timestamped, validated, the first."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.audit import evidence
from analysis.audit.evidence import quoted
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.transition import stated
from analysis.store import Store

COMES_AGAIN = Label("numbers", "every number of the paper comes again from its files")
RUNS_AGAIN = Label("code", "the code gives the files again")
STAMPED = Label("stamped", "each result file has a proof of its time")
EXTRACTED = Label("extracted", "maps of Pythia's attention layers were extracted")
VALIDATED = Label("validated", "what was extracted bears the framework out")
FIRST = Label("first", "nobody before validated it by a computed Laplacian")
MAPS = "restriction_maps_results.json"
#: How a file with a proof of OpenTimestamps ends.
PROOF = ".ots"


@claim(62)
def reproducible(store: Store) -> Sequence[Check]:
    """Check claim 62: everything is reproducible."""
    again = evidence.missing(RUNS_AGAIN, "a second run", "nobody ran the author's code here")
    ledger = stated.ledger(store)
    printed = ledger[~ledger["place"].str.startswith(stated.OURS)]
    if printed.empty:
        reason = "no number of the paper is in the store"
        return [evidence.missing(COMES_AGAIN, "the published files", reason), again]
    counts = stated.counted(printed)
    hits = counts[stated.AGREES]
    number = Check(
        COMES_AGAIN,
        "the published files, as their numbers are defined there",
        False if counts[stated.DIFFERS] else True if hits == len(printed) else None,
        estimate=hits / len(printed),
        n_obs=len(printed),
        evidence=(stated.TABLE,),
        method="share of printed numbers that come again",
        measure="share",
        note=f"Of {len(printed)} numbers {hits} come again, {counts[stated.DIFFERS]} differ, and "
        f"{len(printed) - hits - counts[stated.DIFFERS]} stand in no file.",
    )
    return [number, again]


@claim(63)
def timestamps(store: Store) -> Sequence[Check]:
    """Check claim 63: results are timestamped on a blockchain."""
    files = store.query("SELECT file FROM published_file")["file"]
    n_proofs = int(files.str.endswith(PROOF).sum())
    return [
        evidence.missing(
            STAMPED,
            "the author's published files",
            f"of {len(files)} published result files {n_proofs} are proofs ({PROOF}), and a proof "
            "that lies elsewhere cannot be seen",
        )
    ]


@claim(64)
def extraction(store: Store) -> Sequence[Check]:
    """Check claim 64: the framework is validated by maps extracted from Pythia."""
    rows = evidence.figures(store, "weight_spectral_v", [MAPS])
    condition = "the file of the notebook that extracts them"
    tested = _tests(store)
    if rows.empty:
        return [evidence.missing(EXTRACTED, condition, f"{MAPS} is not in the store"), tested]
    layers = int(rows["n"].sum())
    names = ", ".join(sorted(rows["model_id"].unique()))
    return [
        evidence.check(
            EXTRACTED,
            condition,
            bool((rows["suite"] == "Pythia").all()),
            rows,
            estimate=float(layers),
            method="number of layers with a norm",
            measure="count",
            note=f"Norms of {layers} layers of {names}.",
        ),
        tested,
    ]


def _tests(store: Store) -> Check:
    """Return what the two tests of the file say: one cannot fail, the other had no numbers."""
    condition = "the tests that the file itself makes"
    rows = quoted.at(store, MAPS)
    tests = rows[rows["quantity"] == "file_test"]
    empty = rows.loc[rows["quantity"] == "layers_without_number", "printed"]
    if tests.empty or empty.empty:
        return evidence.missing(VALIDATED, condition, quoted.ABSENT)
    said = ", ".join(f"{row.subject} {row.printed}" for row in tests.itertuples())
    return Check(
        VALIDATED,
        condition,
        None,
        estimate=float((tests["printed"] == "True").mean()),
        n_obs=len(tests),
        evidence=(quoted.EVIDENCE,),
        method="share of the file's tests that are true",
        measure="share",
        note=f"The file says: {said}. Its contraction is a mean of roots of attention weights, "
        f"below 1 in any model. Of layers {empty.item()}, those after L*, it holds no number.",
    )


@claim(65)
def priority(store: Store) -> Sequence[Check]:
    """Check claim 65: the first validation, by a Laplacian computed directly."""
    unknown = evidence.missing(
        FIRST, "all work before", "the store holds no literature; the paper cites one proposal"
    )
    traces = evidence.figures(store, "trace_multi_head", [evidence.TRACES])
    if traces.empty:
        return [unknown]
    computed = evidence.check(
        Label("computed", "a Laplacian was computed"),
        "the file of traces",
        True,
        traces,
        estimate=float(len(traces)),
        method="number of models with a trace",
        measure="count",
        note="Traces of these models are published.",
    )
    return [unknown, evidence.descriptive(computed)]
