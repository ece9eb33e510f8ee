"""The row of table model of every family is what its modelling file says."""

from pathlib import Path

import pytest

from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.description import model_row
from collect.model.labels import Labels
from collect.record.writer import conforming
from tests.collect.families import FAMILIES
from tests.collect.shown import loaded_family

#: Columns of table model that differ between families, read off the modelling files by hand; the
#: rows of cohere_compass_text, and from aria_text on, are the program's, held against the
#: configurations.
ROWS = """\
name n_kv_heads d_head d_ffn n_context norm_kind norm_position positional_scheme residual head
gpt2 8 8 256 64 LayerNorm pre learned sequential tied
gpt_neo 8 8 256 64 LayerNorm pre learned sequential tied
gptj 8 8 256 64 LayerNorm pre rotary parallel untied
codegen 8 8 256 64 LayerNorm pre rotary parallel untied
gpt_neox 8 8 160 64 LayerNorm pre rotary parallel untied
gpt_neox_sequential 8 8 160 64 LayerNorm pre rotary sequential untied
opt 8 8 160 64 LayerNorm pre learned sequential tied
opt_post_norm 8 8 160 64 LayerNorm post learned sequential tied
bloom 8 8 256 None LayerNorm pre alibi sequential tied
bloom_adds_to_norm 8 8 256 None LayerNorm pre alibi sequential tied
falcon_7b 1 8 256 2048 LayerNorm pre rotary parallel tied
falcon_40b 2 8 256 2048 LayerNorm pre rotary parallel tied
falcon_11b 2 8 256 2048 LayerNorm pre rotary parallel tied
falcon_rw 8 8 256 2048 LayerNorm pre alibi sequential tied
mpt 8 8 256 64 LayerNorm pre alibi sequential tied
gpt_bigcode_shared 1 8 256 64 LayerNorm pre learned sequential tied
gpt_bigcode 8 8 256 64 LayerNorm pre learned sequential tied
llama 8 8 160 64 RMSNorm pre rotary sequential untied
llama_shared 2 10 160 64 RMSNorm pre rotary sequential untied
mistral 2 10 160 64 RMSNorm pre rotary sequential untied
mixtral 2 10 160 64 RMSNorm pre rotary sequential untied
gemma 1 16 160 64 RMSNorm pre rotary sequential tied
gemma2 4 16 160 64 RMSNorm sandwich rotary sequential tied
gemma3_text 4 16 160 64 RMSNorm sandwich rotary sequential tied
stablelm 4 8 160 64 LayerNorm pre rotary sequential untied
stablelm_parallel 8 8 160 64 LayerNorm pre rotary parallel untied
qwen2 2 8 160 64 RMSNorm pre rotary sequential untied
qwen3 2 16 160 64 RMSNorm pre rotary sequential untied
qwen3_moe 2 16 32 64 RMSNorm pre rotary sequential untied
phi 2 8 160 64 LayerNorm pre rotary parallel untied
phi3 2 8 160 64 RMSNorm pre rotary sequential untied
olmo 2 8 160 64 LayerNorm pre rotary sequential untied
olmo2 2 8 160 64 RMSNorm output rotary sequential untied
olmo3 2 8 160 64 RMSNorm output rotary sequential untied
olmoe 2 8 160 64 RMSNorm pre rotary sequential untied
cohere 4 8 160 64 LayerNorm pre rotary parallel tied
cohere2 4 12 160 64 LayerNorm pre rotary parallel tied
cohere_compass_text 4 12 160 64 LayerNorm pre rotary parallel tied
granite 4 8 160 64 RMSNorm pre rotary sequential untied
smollm3 2 8 160 64 RMSNorm pre rotary sequential tied
ministral 2 12 160 64 RMSNorm pre rotary sequential untied
starcoder2 2 8 160 64 LayerNorm pre rotary sequential tied
nemotron 2 12 160 64 LayerNorm pre rotary sequential untied
exaone4 2 8 160 64 RMSNorm output rotary sequential untied
glm4 2 12 160 64 RMSNorm sandwich rotary sequential untied
helium 4 8 160 64 RMSNorm pre rotary sequential untied
gpt_oss 2 16 160 64 RMSNorm pre rotary sequential untied
persimmon 8 8 160 64 LayerNorm pre rotary sequential untied
xglm 8 8 160 64 LayerNorm pre sinusoidal sequential tied
biogpt 8 8 160 64 LayerNorm pre learned sequential tied
apertus 2 8 160 64 RMSNorm pre rotary sequential untied
arcee 2 16 160 64 RMSNorm pre rotary sequential untied
cwm 2 16 160 64 RMSNorm pre rotary sequential untied
ernie4_5 2 16 160 64 RMSNorm pre rotary sequential tied
flex_olmo 2 8 160 64 RMSNorm output rotary sequential untied
glm 2 16 160 64 RMSNorm pre rotary sequential untied
hunyuan_v1_dense 2 16 160 64 RMSNorm pre rotary sequential untied
jais2 2 16 160 64 LayerNorm pre rotary sequential untied
ministral3 2 16 160 64 RMSNorm pre rotary sequential untied
phimoe 2 8 160 64 LayerNorm pre rotary sequential untied
qwen2_moe 2 8 32 64 RMSNorm pre rotary sequential untied
seed_oss 2 16 160 64 RMSNorm pre rotary sequential untied
aria_text 2 12 160 64 RMSNorm pre rotary sequential untied
cohere2_moe 4 12 160 64 LayerNorm pre rotary parallel tied
dots1 2 12 32 64 RMSNorm pre rotary sequential untied
ernie4_5_moe 2 12 32 64 RMSNorm pre rotary sequential tied
exaone_moe 2 12 32 64 RMSNorm pre rotary sequential untied
flint 2 12 32 64 RMSNorm pre rotary sequential untied
glm4_moe 2 12 32 64 RMSNorm pre rotary sequential untied
gpt_sw3 8 8 256 64 LayerNorm pre learned sequential tied
granitemoe 2 8 160 64 RMSNorm pre rotary sequential untied
hunyuan_v1_moe 2 12 160 64 RMSNorm pre rotary sequential untied
hy_v3 2 12 32 64 RMSNorm pre rotary sequential untied
hyperclovax 2 12 160 64 RMSNorm sandwich rotary sequential untied
internlm3 2 12 160 64 RMSNorm pre rotary sequential untied
iquestcoder 2 12 160 64 RMSNorm pre rotary sequential untied
kolibri1 2 12 32 64 RMSNorm sandwich rotary sequential untied
llama4_text 2 12 160 64 RMSNorm pre rotary sequential untied
mellum 2 12 32 64 RMSNorm pre rotary sequential untied
minimax_m2 2 12 160 64 RMSNorm pre rotary sequential untied
minimax_m3_vl_text 2 12 160 64 RMSNorm pre rotary sequential untied
moshi 2 12 80 64 RMSNorm pre rotary sequential untied
nanochat 2 8 160 64 RMSNorm pre rotary sequential untied
solar_open 2 12 32 64 RMSNorm pre rotary sequential untied
vaultgemma 2 16 160 64 RMSNorm pre rotary sequential tied
ctrl 8 8 160 64 LayerNorm pre sinusoidal sequential tied
openai_gpt 8 8 256 64 LayerNorm post learned sequential tied
modernbert 4 16 160 64 LayerNorm pre rotary sequential tied
modernbert_biases 4 16 160 64 LayerNorm pre rotary sequential untied
"""


def row_of(placed):
    labels = Labels("lab", "suite", 2026)
    directory = Path("model")
    checkpoint = Checkpoint(
        "local/model", directory, None, placed.adapter, {}, (), "float32", labels
    )
    return model_row(checkpoint, placed).iloc[0]


@pytest.mark.parametrize("line", ROWS.splitlines()[1:], ids=lambda line: line.split()[0])
def test_the_row_of_table_model_is_right(line):
    name, *expected = line.split()
    row = row_of(loaded_family(name))
    n_context = "None" if row["n_context"] is None else str(row["n_context"])
    result = [
        *map(str, row[["n_kv_heads", "d_head", "d_ffn"]]),
        n_context,
        *row[["norm_kind", "norm_position", "positional_scheme"]],
        "parallel" if row["is_parallel"] else "sequential",
        "tied" if row["is_tied"] else "untied",
    ]
    assert result == expected
    n_vocabulary = 98 if name == "moshi" else 97  # its table has a token that it never predicts
    n_heads = 4 if name.startswith("modernbert") else 8
    assert (row["d_model"], row["n_heads"], row["n_vocabulary"]) == (64, n_heads, n_vocabulary)
    assert conforming("model", row.to_frame().T.convert_dtypes()).num_rows == 1


def test_the_table_names_every_family():
    names = [line.split()[0] for line in ROWS.splitlines()[1:]]
    assert names == list(FAMILIES), "write its row in ROWS, from the modelling file"
