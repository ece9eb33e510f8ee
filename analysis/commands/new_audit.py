"""A new audit laid out: a folder that renders at once, with claims as examples to replace."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from analysis.audit.about import FILE, About
from analysis.commands.verbs import ABOUT
from analysis.tidy.errors import AnalysisError, ReportError

#: The files of a new audit, by name.
FILES = {
    "claim.csv": """\
claim_id,statement,place
1,every student scores above 50,abstract
2,the score rises with hours of homework,section 2
3,who works more than three hours passes more often,section 3
""",
    "claim_meaning.csv": """\
claim_id,meaning
1,No student of the paper scores 50 points or less.
2,Students who do more homework score more.
3,Of students with more than three hours of homework more score above 60.
""",
    "unit.csv": """\
unit_id,group_id,hours,score
s1,class a,2,56
s2,class a,3,61
s3,class a,5,66
s4,class b,1,53
s5,class b,4,62
s6,class b,6,71
s7,class b,5,60
s8,class a,1,54
""",
    "claims.py": '''\
"""The claims of the paper, each a function from the data to checks. Replace these three."""

from __future__ import annotations

from analysis.audit import Claim, evidence
from analysis.inference import correlation, fisher


def above_fifty(store):
    students = evidence.units(store)
    above = students["score"] > 50
    return [
        evidence.share_check(
            "every student scores above 50",
            "table 1",
            int(above.sum()),
            students,
            holds=bool(above.all()),
            method="share of students above 50",
            units="students",
        )
    ]


def rises(store):
    students = evidence.units(store)
    found = correlation.correlate(students, x="hours", y="score").iloc[0]
    return [
        evidence.check(
            "the score rises with hours",
            "table 1, all students",
            evidence.significant(found, "above", null=0),
            students,
            **evidence.numbers(found),
            null=0,
            method=found["method"],
            measure="r",
        )
    ]


def passes(store):
    students = evidence.units(store)
    table = students.assign(diligent=students["hours"] > 3, passed=students["score"] > 60)
    found = fisher.fisher_exact(table, row="diligent", column="passed").iloc[0]
    return [
        evidence.check(
            "who works more passes more often",
            "table 1, more than three hours, a score above 60",
            # True, False or None: a large p, as eight students have, refutes nothing.
            evidence.significant(found, "above"),
            students,
            **evidence.numbers(found),
            method=found["method"],
            measure="odds ratio",
        )
    ]


CLAIMS = (
    Claim(1, "Share of students above 50", "The share is 1.", above_fifty, "universal"),
    Claim(2, "Correlation of hours with score", "Its 95 % interval lies above 0.", rises),
    Claim(3, "Odds ratio of passing", "It is above 1, with a p below 0.05.", passes),
)
''',
}


#: The files of a new audit of models, by name: figures of a paper in place of a table of units.
MODELS = {
    "claim.csv": """\
claim_id,statement,place
1,every loss is below 3 nats,table 2
2,deeper models have a lower loss,section 2
""",
    "claim_meaning.csv": """\
claim_id,meaning
1,No model of the paper has a loss of 3 nats or more.
2,Models with more layers have a lower loss.
""",
    "model.csv": """\
model_id,lab,suite,n_layers,d_model,n_parameters
a/small,a lab,first,2,64,1000000
a/medium,a lab,first,4,64,2000000
a/large,a lab,first,6,64,3000000
b/small,b lab,second,3,64,1500000
b/large,b lab,second,8,64,4000000
""",
    "published_figure.csv": """\
model_id,metric,file,mean,n,unit
a/small,loss,table_2,2.9,1,nat
a/medium,loss,table_2,2.6,1,nat
a/large,loss,table_2,2.5,1,nat
b/small,loss,table_2,2.7,1,nat
b/large,loss,table_2,2.2,1,nat
""",
    "metric.csv": """\
metric,unit,definition
loss,nat,Mean negative log-likelihood of the next token on held-out text.
""",
    "claims.py": '''\
"""The claims of the paper, each a function from the data to checks. Replace these two."""

from __future__ import annotations

from analysis.audit import Claim, evidence
from analysis.inference import correlation


def below_three(store):
    losses = evidence.figures(store, "loss")
    below = losses["mean"] < 3
    return [
        evidence.share_check(
            "every loss is below 3 nats",
            "table 2",
            int(below.sum()),
            losses,
            holds=bool(below.all()),
            method="share of models below 3 nats",
        )
    ]


def falls(store):
    losses = evidence.figures(store, "loss")
    found = correlation.correlate(losses, x="n_layers", y="mean").iloc[0]
    return [
        evidence.check(
            "the loss falls with depth",
            "table 2, all models",
            # True, False or None: a large p, as few models have, refutes nothing.
            evidence.significant(found, "below", null=0),
            losses,
            **evidence.numbers(found),
            null=0,
            method=found["method"],
            measure="r",
        )
    ]


CLAIMS = (
    Claim(1, "Share of models below 3 nats", "The share is 1.", below_three, "universal"),
    Claim(2, "Correlation of depth with loss", "Its 95 % interval lies below 0.", falls),
)
''',
}


def answers(options: argparse.Namespace) -> About:
    """Return what the audit says of itself: what options say, else what is answered at a terminal.

    Raises
    ------
    AnalysisError
        If a name of units is not one word for one and one for several.
    """
    result = {}
    for name, meaning in ABOUT.items():
        given = getattr(options, f"about_{name}")
        if given is None and sys.stdin.isatty():
            print(f"{name}: {meaning}", file=sys.stderr)
            given = input("> ").strip()
        result[name] = given or ""
    default = (
        ("model,models", "suite,suites")
        if options.models
        else ("student,students", "class,classes")
    )
    unit, units = _pair("units", result["units"] or default[0])
    group, groups = _pair("groups", result["groups"] or default[1])
    return About(
        title=result["title"],
        author=result["author"],
        licence=result["licence"],
        paper=result["about"],
        unit=unit,
        units=units,
        group=group,
        groups=groups,
    )


def _pair(option: str, text: str) -> tuple[str, str]:
    one, _, several = (part.strip() for part in text.partition(","))
    if not one or not several:
        raise AnalysisError(
            f"--{option} must name one and several; found {text!r}.", "For example pupil,pupils."
        )
    return one, several


def lay_out(folder: Path, about: About, *, is_of_models: bool = False) -> list[Path]:
    """Write the files of a new audit, of units or of models, and return them.

    Raises
    ------
    AnalysisError
        If the folder holds something already.
    ReportError
        If it cannot be written; no file is left in it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AnalysisError(
            f"A new audit must have an empty folder of its own; {folder} is not empty.",
            "Name a folder that does not exist yet.",
        )
    lines = [f"{name} = {json.dumps(value)}" for name, value in asdict(about).items()]
    files = {
        FILE: "# What the pages say; what is empty they leave out.\n" + "\n".join([*lines, ""]),
        **(MODELS if is_of_models else FILES),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        if folder.is_dir():
            for name in files:
                (folder / name).unlink(missing_ok=True)
        raise ReportError(
            f"The folder {folder} must be writable; {error.strerror}.",
            "Choose another place, or free some space.",
        ) from error
    return [folder / name for name in files]
