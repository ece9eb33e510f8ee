"""Prompts as people have them, from their file to the rows of a store."""

import json

import pytest

from analysis.store import open_store
from collect.errors import InputError
from collect.job.planning.plan import plan
from collect.job.run import run
from collect.record.integrity import faults

RECORDS = [
    {"id": "short", "category": "Factual", "text": "The sky is", "source": "web"},
    {"id": "long", "text": "a" * 90, "source": "book"},
    {"id": "given", "token_ids": [256, 104, 105]},
]


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)))
    return path


def test_a_prompt_over_the_context_is_no_end_of_the_job(save_tiny, records, tmp_path):
    directory, how = str(save_tiny("gpt2")), {"quantities": ["stream"], "quiet": True}
    with pytest.raises(InputError, match="context of 64 tokens; 1 of 3 does not: mine:long has 90"):
        run([directory], [records], tmp_path / "none", **how)
    assert not (tmp_path / "none").exists()
    stores = {}
    for policy, n_tokens in (("skip", {"mine:short": 10, "mine:given": 3}), ("truncate", None)):
        out = tmp_path / policy
        (planned,) = plan([directory], [records], out, too_long=policy, **how)
        run([directory], [records], out, too_long=policy, **how)
        assert list(faults(out)) == []
        store = stores[policy] = open_store(out)
        result = store.query("SELECT prompt_id, n_tokens FROM next_token")
        read = dict(zip(result["prompt_id"], result["n_tokens"], strict=True))
        assert read == (n_tokens or {"mine:short": 10, "mine:given": 3, "mine:long": 64})
        assert len(store.query("FROM residual_norm")) == planned.n_rows["residual_norm"]
        left = store.query("SELECT * FROM not_measured WHERE measured_table = 'prompt'")
        assert left["quantity"].tolist() == ["mine:long"]
        assert left["reason"].item().startswith("It has 90 tokens, and the context of the model")
    sources = stores["skip"].query(
        "SELECT metadata ->> '$.source' AS source, format, category FROM prompt ORDER BY prompt_id"
    )
    assert sources["source"].fillna("none").tolist() == ["none", "book", "web"]
    assert sources["format"].tolist() == ["tokens", "text", "text"]


def test_token_ids_need_no_tokenizer_and_text_beside_them_does(save_tiny, tmp_path):
    directory, out = save_tiny("gpt2"), tmp_path / "out"
    for path in directory.glob("tokenizer*"):
        path.unlink()
    ids = tmp_path / "ids.jsonl"
    ids.write_text('{"token_ids": [5, 7]}')
    (planned,) = plan([str(directory)], [ids], None, quantities=["stream"])
    (done,) = run([str(directory)], [ids], out, quantities=["stream"], quiet=True).units
    assert sum(planned.n_rows.values()) == done.n_rows
    assert list(faults(out)) == []
    store = open_store(out)
    assert store.query("SELECT top_token FROM next_token")["top_token"].isna().tolist() == [True]
    assert {"top_token", "is_special"} <= {*store.query("FROM not_measured")["quantity"]}
    with pytest.raises(InputError, match="must bring its tokenizer"):
        run([str(directory)], [ids, "A_grand_unified"], out, quantities=["stream"], quiet=True)
