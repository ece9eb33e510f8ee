"""The hierarchy on one page of code: what it prints is kept beside it, and its numbers are R's."""

import runpy
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import thermoscope as ts

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "hierarchy.py"

#: Writes again what is kept.
AGAIN = "python examples/hierarchy.py > examples/hierarchy.txt"


@pytest.fixture(scope="module")
def run():
    """Return the names that the script leaves, and its fits by block."""
    fits, fit = {}, ts.mixed

    def kept(formula, rows):
        fits[formula] = fit(formula, rows)
        return fits[formula]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ts, "mixed", kept)
        names = runpy.run_path(str(SCRIPT))
    return names, dict(zip(names["formulas"], fits.values(), strict=True))


@pytest.mark.slow
def test_it_prints_in_ten_cpu_seconds_what_is_kept(tmp_path):
    code = (
        "import resource, runpy, sys\n"
        f"runpy.run_path({str(SCRIPT)!r})\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    printed = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert printed.stdout == SCRIPT.with_suffix(".txt").read_text(encoding="utf-8"), AGAIN
    assert float(printed.stderr.split()[-1]) < 10


def test_it_is_at_most_forty_lines_of_code():
    lines = [line.strip() for line in SCRIPT.read_text(encoding="utf-8").splitlines()]
    code = [line for line in lines if line and not line.startswith(("#", '"""'))]
    assert len(code) <= 40


def test_its_mixed_models_are_those_of_lme4(run):
    _, fits = run
    ours = pd.concat([fit.tidy(["fixed"]) for fit in fits.values()], ignore_index=True)
    theirs = pd.read_csv(SCRIPT.with_suffix(".csv"))
    assert list(fits) == list(theirs["block"].unique())
    assert len(ours) == len(theirs) == 12
    for column in ("estimate", "std_error", "p_value"):
        assert ours[column].to_numpy() == pytest.approx(theirs[column].to_numpy(), abs=1e-6)
    assert ours["df"].to_numpy() == pytest.approx(theirs["df"].to_numpy(), rel=1e-5)


def test_its_claims_are_those_of_the_record(run):
    names, _ = run
    checks = pd.read_csv(ROOT / "data/published/verdict_check.csv")
    claim = checks[(checks["claim_id"] == 7) & (checks["check_id"] == "fisher_kept")].iloc[0]
    row = names["table"].iloc[0]
    for column in ("estimate", "conf_low", "conf_high", "p_value"):
        assert row[column] == pytest.approx(claim[column], rel=1e-9)
    rates = names["rates"].groupby("truth")["probability"].sum()
    assert rates.to_numpy() == pytest.approx(1)
