"""Whether a single test would judge claims 7, 16, 19 and 21 better; fixed before any was tried.

These claims are judged by many readings together, of which all must hold. Competitors are single
tests of the same statement. They are tried on papers whose truth is known (what is planted holds
`analysis.delia2026.pages.verdict_rule.RULING` of the variance) on the models of the paper, never on
the published gains before the choice is made. For each claim by itself:

1. *Size.* A test is out if in any world where the claim is false it says yes in more than
   `criterion.LEVEL` of papers, in the sense that the lower end of Wilson's one-sided interval
   (`criterion.SURE`) lies above it. The same holds of the rule in force.
2. *Power.* Of those left, the largest share of yes where the claim is true; within two Monte Carlo
   standard errors tests are equal, and the first in `TESTS` counts.
3. *The same statement.* A test replaces the rule in force only if it asks all that the claim
   asserts, at the level the claim prints (`SAME`), and its power exceeds that in force by
   two Monte Carlo standard errors. Else it is shown with its rates, and the rule stays.
"""

from __future__ import annotations

#: Worlds in which each claim is true; in all others it is false.
TRUE: dict[int, tuple[str, ...]] = {
    7: ("heritage",),
    16: ("density",),
    19: ("heritage", "depth", "recipe", "density", "hierarchy", "three laws"),
    21: ("three laws",),
}

#: Worlds that make a claim neither true nor false: the lab holds a part in them.
NEITHER: dict[int, tuple[str, ...]] = {7: ("hierarchy", "three laws")}

#: The tests of each claim, the simplest first.
TESTS: dict[int, tuple[str, ...]] = {
    7: (
        "Fisher at .001",
        "Fisher, all models, at .001",
        "suites exchanged",
        "suites exchanged, log gain",
    ),
    16: ("within Pythia", "within suites", "rho exchanged within suites"),
    19: ("tuned models exchanged", "same side in all pairs"),
    21: ("printed tests alone", "units exchanged"),
}

#: Tests that ask all that the claim asserts, at the level it prints.
SAME: dict[int, tuple[str, ...]] = {
    7: ("Fisher at .001", "Fisher, all models, at .001"),
    16: ("within suites", "rho exchanged within suites"),
    19: ("same side in all pairs",),
    21: ("printed tests alone", "units exchanged"),
}
