"""A new audit laid out: a folder that renders at once, with one claim as an example to replace."""

from __future__ import annotations

from pathlib import Path

from analysis.tidy.errors import AnalysisError, ReportError

#: The files of a new audit, by name. Columns are those of ``data/README.md``.
FILES = {
    "claim.csv": """\
claim_id,statement,place
1,QQevery loss is below 3 natsQQ,abstract
2,loss falls with depth,section 2
""".replace("QQ", '"""'),
    "claim_meaning.csv": """\
claim_id,meaning
1,No model of the paper loses more than three nats a token.
2,Deeper models lose less.
""",
    "published_figure.csv": """\
model_id,metric,prompt_set,dtype,file,path,mean,sd,n,unit,caveats
a lab/small,held_out_loss,none,fp32,table_1,row 1,2.9,,1,nat,one-seed
a lab/middle,held_out_loss,none,fp32,table_1,row 2,2.5,,1,nat,one-seed
a lab/large,held_out_loss,none,fp32,table_1,row 3,2.2,,1,nat,one-seed
a lab/huge,held_out_loss,none,fp32,table_1,row 4,2.1,,1,nat,one-seed
""",
    "model.csv": """\
model_id,revision,lab,suite,family,base_model_id,year,n_layers,d_model,n_heads,n_kv_heads,d_head,\
d_ffn,n_vocabulary,n_context,norm_kind,norm_position,positional_scheme,is_parallel,is_tied,\
n_parameters,n_parameters_source
a lab/small,,a lab,a suite,gpt2,,2024,2,64,4,4,16,,,,,,,,,1000,paper
a lab/middle,,a lab,a suite,gpt2,,2024,4,64,4,4,16,,,,,,,,,2000,paper
a lab/large,,a lab,a suite,gpt2,,2024,6,64,4,4,16,,,,,,,,,3000,paper
a lab/huge,,a lab,a suite,gpt2,,2024,8,64,4,4,16,,,,,,,,,4000,paper
""",
    "metric.csv": """\
metric,symbol,unit,definition
held_out_loss,,nat,Mean negative log-likelihood of the next token on held-out text.
""",
    "caveat.csv": """\
caveat_id,title,explanation
one-seed,One seed,Each model was trained once.
""",
    "claims.py": '''\
"""The claims of the paper, each a function from the data to checks. Replace these two."""

from __future__ import annotations

from analysis.audit import Claim, evidence
from analysis.inference import correlation


def below_three(store):
    losses = evidence.figures(store, "held_out_loss")
    below = losses["mean"] < 3
    return [
        evidence.share_check(
            "every loss is below 3 nats",
            "table 1",
            int(below.sum()),
            losses,
            holds=bool(below.all()),
            method="share of models below 3 nats",
        )
    ]


def falls(store):
    losses = evidence.figures(store, "held_out_loss")
    found = correlation.correlate(losses, x="n_layers", y="mean").iloc[0]
    return [
        evidence.check(
            "loss falls with depth",
            "table 1, all models",
            evidence.below(found["conf_low"], found["conf_high"], 0),
            losses,
            estimate=found["estimate"],
            conf_low=found["conf_low"],
            conf_high=found["conf_high"],
            p_value=found["p_value"],
            method=found["method"],
        )
    ]


CLAIMS = (
    Claim(
        1,
        "Share of models whose loss is below 3 nats",
        "The share is 1.",
        below_three,
        "universal",
    ),
    Claim(2, "Correlation of depth with loss", "Its 95 % interval lies below 0.", falls),
)
''',
}


def lay_out(folder: Path) -> list[Path]:
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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        if folder.is_dir():
            for name in FILES:
                (folder / name).unlink(missing_ok=True)
        raise ReportError(
            f"The folder {folder} must be writable; {error.strerror}.",
            "Choose another place, or free the space.",
        ) from error
    return [folder / name for name in FILES]
