"""A new audit laid out: a folder that renders at once, with two claims as examples to replace."""

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
""",
    "claim_meaning.csv": """\
claim_id,meaning
1,No student of the paper scores 50 points or less.
2,Students who do more homework score more.
""",
    "unit.csv": """\
unit_id,group_id,hours,score
s1,class a,2,56
s2,class a,3,61
s3,class a,5,66
s4,class b,1,53
s5,class b,4,62
s6,class b,6,71
""",
    "claims.py": '''\
"""The claims of the paper, each a function from the data to checks. Replace these two."""

from __future__ import annotations

from analysis.audit import Claim, evidence
from analysis.inference import correlation


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
            evidence.above(found["conf_low"], found["conf_high"], 0),
            students,
            estimate=found["estimate"],
            conf_low=found["conf_low"],
            conf_high=found["conf_high"],
            p_value=found["p_value"],
            method=found["method"],
            measure="r",
        )
    ]


CLAIMS = (
    Claim(1, "Share of students above 50", "The share is 1.", above_fifty, "universal"),
    Claim(2, "Correlation of hours with score", "Its 95 % interval lies above 0.", rises),
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
    unit, units = _pair("units", result["units"] or "student,students")
    group, groups = _pair("groups", result["groups"] or "class,classes")
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


def _toml(about: About) -> str:
    """Return the settings as TOML, whose strings are written as those of JSON."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in asdict(about).items()]
    return "# What the pages say; what is empty they leave out.\n" + "\n".join([*lines, ""])


def lay_out(folder: Path, about: About) -> list[Path]:
    """Write the files of a new audit and return them.

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
    files = {FILE: _toml(about), **FILES}
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
            "Choose another place, or free the space.",
        ) from error
    return [folder / name for name in files]
