"""VERIFIED.md has a row for every form of a type that there is a tiny model of."""

import re

from tests.collect.adapters import verified


def test_every_form_has_a_row_and_none_has_failed():
    text = verified.PATH.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, flags=re.MULTILINE))
    write = "write it with: python -m tests.collect.adapters.verified"
    assert sorted(rows) == verified.names(), write
    # By hand from the code of transformers: Gemma 2 has a norm behind attention, Granite a
    # multiplier, GPT no final norm, and Mamba no attention.
    assert "norm" in rows["gemma2"].rpartition("|")[2]
    assert rows["granite"].endswith("before the multiplier 0.22")
    assert "no final norm" in rows["openai_gpt"]
    assert rows["mamba"].startswith("–")
    assert not [name for name, row in rows.items() if row.split(" | ")[0] not in ("–", "yes")]
