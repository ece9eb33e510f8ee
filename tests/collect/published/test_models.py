"""The table of models against the files and against the architectures."""

import pytest
import torch
import transformers


def test_the_table_of_models_is_those_of_the_files(values, facts):
    assert set(values["model_id"].dropna()) == set(facts("model").model_id)


def test_the_geometry_is_what_the_files_say(values, facts):
    models = facts("model").set_index("model_id")
    columns = [c for c in models if c in set(values["metric"])]
    assert {"n_layers", "n_heads", "d_model", "d_head", "n_vocabulary"} <= set(columns)
    stated = values[
        values["metric"].isin(columns)
        & values["model_id"].notna()
        & values["statistic"].eq("value")
    ]
    for row in stated.itertuples():
        assert row.value == float(models.loc[row.model_id, row.metric]), (row.file, row.path)


def configuration(model):
    """Build the transformers configuration of a row of model.csv."""
    common = {"vocab_size": model.n_vocabulary, "tie_word_embeddings": bool(model.is_tied)}
    short = {"n_layer": model.n_layers, "n_head": model.n_heads}
    inner = {"n_embd": model.d_model, "n_inner": model.d_ffn, "n_positions": model.n_context}
    deep = short | inner
    hidden = {"num_hidden_layers": model.n_layers, "hidden_size": model.d_model}
    headed = hidden | {"num_attention_heads": model.n_heads}
    is_post = model.norm_position == "post"
    plain = headed | {"intermediate_size": model.d_ffn, "max_position_embeddings": model.n_context}
    grouped = plain | {"num_key_value_heads": model.n_kv_heads, "head_dim": model.d_head}
    shape = {
        **dict.fromkeys(("gpt2", "gptj"), deep),
        "bloom": short | {"hidden_size": model.d_model},
        "opt": headed
        | {
            "ffn_dim": model.d_ffn,
            "max_position_embeddings": model.n_context,
            "do_layer_norm_before": not is_post,
            "word_embed_proj_dim": 512 if is_post else model.d_model,
        },
        "gpt_neo": {
            "num_layers": model.n_layers,
            "hidden_size": model.d_model,
            "num_heads": model.n_heads,
            "intermediate_size": model.d_ffn,
            "max_position_embeddings": model.n_context,
            "attention_types": [[["global", "local"], model.n_layers // 2]],
        },
        "gpt_neox": plain,
        "falcon": headed
        | {
            "ffn_hidden_size": model.d_ffn,
            "multi_query": model.n_kv_heads == 1,
            "parallel_attn": bool(model.is_parallel),
            "bias": False,
        },
    }
    return transformers.CONFIG_MAPPING[model.family](**common, **shape.get(model.family, grouped))


@pytest.mark.slow
def test_parameter_counts_are_those_of_the_architecture(facts):
    for model in facts("model").itertuples():
        with torch.device("meta"):
            network = transformers.AutoModelForCausalLM.from_config(configuration(model))
        counted = sum(parameter.numel() for parameter in network.parameters())
        assert counted == model.n_parameters, model.model_id
