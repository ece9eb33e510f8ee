"""How a rule for the hierarchy is chosen; fixed before any rule was tried on the published gains.

What is fixed: the statements, when a paper makes each of them true, the worlds, the rules that
compete, and how the winner follows. The rules are compared on simulated papers alone. Some of
their ingredients (a restricted likelihood ratio, a posterior, Shapley shares) had been computed
from the published gains for other sections of the report; what they decide as rules of claim 20
had not. The bootstrap of suites, today's rule, had been: it leaves claim 20 undecided.

**Truth.** A paper is planted as a sum of components (lab; suite within lab; shape: head density
and head width; depth; scale), each standardised over the paper's models, and a residual. Its share
is its planted variance over that of all components and the residual. Heritage is the lab, or the
recipe: lab and suite together. Geometry is shape and depth together. A statement "first over
second" is true where the share of the first is larger; where both are equal, zero included, it is
false. One aberrant model is a contamination and leaves what is true.

**Choice**, for each statement by itself, on the present design:

1. *Size.* A rule is out if in any world where the statement is false its share of "yes", or in any
   world where the reversed statement is false its share of "no", is above `LEVEL`, in the sense
   that the lower end of the one-sided `SURE` interval of Wilson lies above it.
2. *Power.* Of those left, the largest mean share of "yes" over all worlds where the statement is
   true. Rules within two Monte Carlo standard errors of the best are equal.
3. *Simplicity.* Of equal rules the first in `RULES`.

Today's rule stays where no rule is left, or where the winner's power does not exceed its own by
two Monte Carlo standard errors while it holds its size.

**Testable.** A claim can be tested with a design if a rule says "yes" in at least `TESTABLE` of
the papers that make it true at the size claimed, or "no" in as many of those that make it false;
else the verdict is "not testable with these data", which is not "undecided".
"""

from __future__ import annotations

#: Most often that a rule may say yes of a false statement.
LEVEL = 0.05
#: Confidence with which a rule's size must exceed `LEVEL` before it is out.
SURE = 0.99
#: Least power at the size claimed, for the verdict to be a finding.
TESTABLE = 0.2
#: Share of the variance that rules at the size claimed.
CLAIMED = 0.8

#: Components on either side of every statement.
STATEMENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "lab over geometry": (("lab",), ("shape", "depth")),
    "recipe over geometry": (("lab", "suite"), ("shape", "depth")),
    "geometry over scale": (("shape", "depth"), ("scale",)),
    "lab over suite": (("lab",), ("suite",)),
}
#: The world in which each statement is true and one component alone rules.
RULING = {
    "lab over geometry": "lab",
    "recipe over geometry": "suite",
    "geometry over scale": "depth",
    "lab over suite": "lab",
}

#: Shares of what rules alone.
SHARES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
#: Components that rule alone; "named lab" is EleutherAI against all others, a component of lab.
ALONE = ("lab", "named lab", "suite", "shape", "depth", "scale")
#: Worlds where two or more are planted: ties, at which a statement is false by least; the claimed
#: ranking; the ranking reversed.
TOGETHER: dict[str, dict[str, float]] = {
    "nothing": {},
    "lab = shape": {"lab": 0.4, "shape": 0.4},
    "lab = depth": {"lab": 0.4, "depth": 0.4},
    "suite = shape": {"suite": 0.4, "shape": 0.4},
    "suite = depth": {"suite": 0.4, "depth": 0.4},
    "shape = scale": {"shape": 0.4, "scale": 0.4},
    "depth = scale": {"depth": 0.4, "scale": 0.4},
    "lab = suite": {"lab": 0.4, "suite": 0.4},
    "lab > depth > scale": {"lab": 0.6, "depth": 0.25, "scale": 0.05},
    "suite > depth > scale": {"suite": 0.6, "depth": 0.25, "scale": 0.05},
    "scale > depth > suite": {"scale": 0.6, "depth": 0.25, "suite": 0.05},
}
#: Forms of the residual and of the effects of levels: normal; Student's t with three degrees of
#: freedom; normal with one model, the smallest of GPT-Neo, `AWAY` residual deviations off.
FORMS = ("normal", "heavy-tailed", "outlier")
AWAY = 4.0

#: The rules, the simplest first.
RULES: dict[str, str] = {
    "exact ratio": "restricted likelihood ratio test that the first has no variance",
    "permutation": "labels of the first exchanged within strata of depth; difference of shares",
    "bootstrap of suites": "Shapley shares, suites drawn again: today's rule",
    "bootstrap of labs": "Shapley shares, labs drawn again",
    "prediction": "squared errors of models left out, first against second, paired by suite",
    "least squares": "variances of fitted effects, bias removed, bootstrapped at a tie",
    "profile likelihood": "restricted likelihood, free against both variances equal",
    "exact bounds": "lower bound of the first above the upper bound of the second",
    "parametric bootstrap": "difference of restricted shares, bias removed, drawn at a tie",
    "posterior of new levels": "probability that the variance of the first is larger",
    "posterior of these levels": "the same of the levels at hand",
}
