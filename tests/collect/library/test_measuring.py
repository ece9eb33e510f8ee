"""A model object is measured as its saved checkpoint is, bit for bit, and given back as it was."""

import contextlib
import copy
import re

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from torch import nn

import collect
from collect.errors import ConformanceError, InputError
from collect.job.settings import Settings
from collect.record.integrity import faults
from collect.schema import tables
from tests.collect.conftest import tiny_model, tiny_tokenizer
from tests.collect.library.test_adapted import Tuned
from tests.collect.record.written import frame

TEXTS = ["The sky is", "Two and two", "A b"]
IDENTITY = ["run_id", "model_id"]


@pytest.fixture
def model():
    """A model as one has it in a program: in training mode, its attention by another code."""
    result = tiny_model("llama_shared_values")
    result.set_attn_implementation("sdpa")
    return result.train()


@pytest.fixture
def tokenizer():
    return tiny_tokenizer()


def test_the_numbers_are_those_of_the_saved_checkpoint_bit_for_bit(model, tokenizer, tmp_path, out):
    frames = collect.measure(model, tokenizer, TEXTS, quantities=["all"], prompt_set="own")
    model.save_pretrained(tmp_path / "saved")
    tokenizer.save_pretrained(tmp_path / "saved")
    (tmp_path / "own.txt").write_text("\n".join(TEXTS))
    done = collect.run(tmp_path / "saved", tmp_path / "own.txt", out, quantities=["all"])
    assert [unit.state for unit in done.units] == ["measured", "measured"]
    assert {path.name for path in out.iterdir()} == frames.keys()
    of_files = frames["conformance"].set_index("property").loc[["tensors_used"]]
    assert of_files["is_met"].isna().all()
    assert set(of_files["reason"]) == {"a model in memory has no files"}
    for table in frames.keys() - {"run", "model"}:
        columns = [n.name for n in tables()[table].columns if n.name not in IDENTITY]
        keys = [name for name in tables()[table].key if name not in IDENTITY]
        stored = frame(out, table)
        if table == "conformance":
            stored = stored[stored["property"] != "tensors_used"]
            ours = frames[table][frames[table]["property"] != "tensors_used"]
            frames[table] = ours.infer_objects()
        ours, theirs = (
            rows.drop_duplicates(keys).sort_values(keys)[columns].reset_index(drop=True)
            for rows in (frames[table], stored)
        )
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True, obj=table)
    ours, theirs = frames["run"], frame(out, "run").sort_values("kind").reset_index(drop=True)
    same = ["config_sha256", "tokens_sha256", "prompt_set_sha256", "dtype_weights", "adapter"]
    ours = ours.sort_values("kind").reset_index(drop=True)
    pd.testing.assert_frame_equal(ours[same], theirs[same])


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ({"rms_norm_eps": 0.5}, {"eps", "variance_epsilon"}),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 7.0}}, {"inv_freq"}),
    ],
)
def test_a_configuration_that_was_changed_after_loading_is_named(
    model, tokenizer, tmp_path, entries, names
):
    def norms():
        frames = collect.measure(model, tokenizer, TEXTS, prompt_set="own")
        gaps = frames["not_measured"]["quantity"] if "not_measured" in frames else ()
        norm = frames["residual_norm"].set_index(["prompt_id", "site", "layer", "position"])["norm"]
        return norm, {gap for gap in gaps if gap.startswith("configuration of")}

    before, gaps = norms()
    assert not gaps
    model.config.update(entries)
    after, gaps = norms()
    assert (after == before).all()
    assert {gap.rpartition(".")[2] for gap in gaps} & names
    model.save_pretrained(tmp_path / "saved")
    made = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    saved = collect.measure(made, tokenizer, TEXTS, prompt_set="own")
    norm = saved["residual_norm"].set_index(["prompt_id", "site", "layer", "position"])["norm"]
    assert (norm - before).abs().max() > 1e-3


def test_the_model_is_given_back_as_it_was(model, tokenizer):
    model.model.layers[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    places = [parameter.data_ptr() for parameter in model.parameters()]
    state = torch.random.get_rng_state()
    collect.measure(model, tokenizer, TEXTS)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.config._attn_implementation == "sdpa"
    assert [model.training, model.model.layers[1].training] == [True, False]
    assert [parameter.data_ptr() for parameter in model.parameters()] == places
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert all(parameter.requires_grad for parameter in model.parameters())


class LowRank(Tuned):
    """An adapter of low rank."""

    def __init__(self, base_layer):
        super().__init__(base_layer)
        self.down = nn.Parameter(0.1 * torch.randn(2, base_layer.in_features))
        self.up = nn.Parameter(0.1 * torch.randn(base_layer.out_features, 2))

    def merge(self):
        self.base_layer.weight.data += self.up @ self.down
        self.merged_adapters.append("default")

    def forward(self, states):
        return self.base_layer(states) + states @ self.down.T @ self.up.T


def test_low_rank_adapters_are_measured_merged_and_left_apart(model, tokenizer):
    torch.manual_seed(3)
    plain = collect.measure(model, tokenizer, TEXTS, quantities=["stream,weights"])
    attention = model.model.layers[0].self_attn
    layer = attention.q_proj = LowRank(attention.q_proj)
    own = layer.base_layer.weight.clone()
    adapted = collect.measure(model, tokenizer, TEXTS, quantities=["stream,weights"])
    assert model.model.layers[0].self_attn.q_proj is layer
    assert torch.equal(layer.base_layer.weight, own)
    assert not layer.merged
    by_hand = copy.deepcopy(model)
    with torch.no_grad():
        layer.base_layer.weight += layer.up @ layer.down
    by_hand.model.layers[0].self_attn.q_proj = layer.base_layer
    merged = collect.measure(by_hand, tokenizer, TEXTS, quantities=["stream,weights"])
    for table in ("residual_norm", "weight_norm"):
        rows = [frames[table].drop(columns=IDENTITY) for frames in (adapted, merged, plain)]
        pd.testing.assert_frame_equal(rows[0], rows[1], check_exact=True)
        assert not rows[0].equals(rows[2])


def test_prompts_may_be_records_turns_tokens_or_a_frame(model, tokenizer):
    records = [{"id": "a", "text": "The sky is", "source": "web"}, [256, 104], "A b"]
    frames = collect.measure(model, tokenizer, records, quantities=["stream"])
    assert frames["prompt"]["prompt_id"].tolist() == ["prompts:01", "prompts:02", "prompts:a"]
    assert frames["next_token"]["n_tokens"].tolist() == [2, 3, 10]
    rows = pd.DataFrame({"id": ["a", "b"], "text": TEXTS[:2]})
    again = collect.measure(model, tokenizer, rows, quantities=["stream"], prompt_set="two")
    assert again["prompt"]["prompt_id"].tolist() == ["two:a", "two:b"]
    assert again["run"]["prompt_set"].tolist() == ["two"]


def test_token_ids_are_measured_without_a_tokenizer(model, tokenizer):
    frames, named = (
        collect.measure(model, given, [[5, 7], [3]], quantities=["stream", "predictions"])
        for given in (None, tokenizer)
    )
    assert frames["next_token"]["top_token"].isna().all()
    assert named["next_token"]["top_token"].notna().all()
    for table in ("residual_norm", "token_prediction"):
        pd.testing.assert_frame_equal(frames[table], named[table])
    gaps = frames["not_measured"].set_index(["measured_table", "quantity"])["reason"]
    assert gaps["next_token", "top_token"].startswith("Token ids were measured without a tokenizer")
    assert ("residual_norm", "is_special") in gaps.index
    with pytest.raises(InputError, match="Token ids must be taken as they are"):
        collect.measure(model, None, [[5, 7]], chat_template=True)


def test_without_prompts_the_weights_are_measured_alone(model):
    frames = collect.measure(model, None)
    assert frames["run"]["kind"].tolist() == ["weights"]
    assert "prompt" not in frames


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model_id": ""}, "can be printed and is not empty; found ''"),
        ({"model_id": None}, "can be printed and is not empty; found None"),
        ({"tokenizer": "gpt2"}, "one of transformers; found str"),
        ({"prompts": 3}, "a list of texts or records; found int"),
    ],
)
def test_arguments_of_another_type_are_refused_in_a_sentence(model, tokenizer, given, sentence):
    arguments = {"tokenizer": tokenizer, "prompts": ["x"], **given}
    with pytest.raises(InputError, match=sentence) as refusal:
        collect.measure(model, **arguments)
    assert refusal.value.hint


@pytest.mark.filterwarnings("ignore:Not part of the model")
def test_a_model_edited_by_a_hook_is_refused_unless_allowed(model, tokenizer):
    block = model.model.layers[1]
    handle = block.mlp.register_forward_hook(lambda _module, _args, output: output * 2.0)
    loud = collect.measure(model, tokenizer, TEXTS, quantities=["stream"])
    handle.remove()
    plain = collect.measure(model, tokenizer, TEXTS, quantities=["stream"])
    ratio = loud["residual_update"]["norm"] / plain["residual_update"]["norm"]
    edited = (plain["residual_update"]["layer"] == 1) & (plain["residual_update"]["part"] == "ffn")
    assert ratio[edited].sub(2).abs().max() < 1e-5
    block.register_forward_hook(lambda _module, _args, output: output + 1.0)
    with pytest.raises(ConformanceError, match="block_adds_up") as refusal:
        collect.measure(model, tokenizer, TEXTS, quantities=["stream"])
    assert "--allow-nonconforming" in refusal.value.hint
    frames = collect.measure(
        model, tokenizer, TEXTS, quantities=["stream"], allow_nonconforming=True
    )
    assert frames["run"]["is_conforming"].tolist() == [False]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda model: model.config, "must be a causal model of transformers"),
        (lambda model: model.double(), "one of float32, bfloat16, float16; this one is in float64"),
        (lambda model: model.to("meta"), "in the memory of this process"),
        (lambda model: model.lm_head.weight.data.fill_(torch.nan) is None or model, "diverged"),
    ],
)
def test_an_object_that_cannot_be_measured_is_refused(model, tokenizer, spoil, sentence):
    with pytest.raises(InputError, match=sentence):
        collect.measure(spoil(model), tokenizer, TEXTS)


def test_a_step_of_the_same_weights_is_told_and_one_that_is_there_is_not(
    model, tokenizer, tmp_path
):
    how = {"model_id": "own/model"}
    for step in (0, 0):
        collect.measure_step(model, tokenizer, TEXTS, tmp_path, step=step, **how)
    with pytest.warns(UserWarning, match="own/model at step7 has the weights of another step"):
        collect.measure_step(model, tokenizer, TEXTS, tmp_path, step=7, **how)
    assert len([*(tmp_path / "run").iterdir()]) == 1


def test_steps_of_any_loop_become_a_trajectory(model, tokenizer, tmp_path):
    from analysis.store import open_store

    for step in (0, 10, 20):
        done = collect.measure_step(
            model, tokenizer, TEXTS, tmp_path, step=step, tokens=step * 64, model_id="own/model"
        )
        assert [unit.state for unit in done] == ["measured"]
        with torch.no_grad():
            model.model.layers[0].mlp.down_proj.weight.mul_(1.5)
    assert list(faults(tmp_path)) == []
    gains = open_store(tmp_path).query(
        "SELECT training_step, training_tokens, gain_mean FROM gain_trajectory"
        " WHERE metric = 'gain_body' ORDER BY 1"
    )
    assert gains["training_step"].tolist() == [0, 10, 20]
    assert gains["training_tokens"].tolist() == [0, 640, 1280]
    assert gains["gain_mean"].nunique() == 3
    with pytest.raises(InputError, match="weights_sha256 is"):
        collect.measure_step(model, tokenizer, TEXTS, tmp_path, step=20, model_id="own/model")


@pytest.mark.parametrize("number", [2.5, -1, "x", True, None, 2**63])
def test_a_step_or_a_number_of_tokens_that_is_no_count_is_refused(model, tmp_path, number):
    result = re.escape(f"must be a whole number of 0 or more, below 2^63; found {number!r}.")
    how = {"model_id": "own/model", "prompts": TEXTS, "out": tmp_path / "out"}
    with pytest.raises(InputError, match=f"The step of a training {result}"):
        collect.measure_step(model, None, step=number, **how)
    if number is not None:  # not known
        with pytest.raises(InputError, match=f"The tokens trained on {result}"):
            collect.measure_step(model, None, step=np.int64(3), tokens=number, **how)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "hint"), [("quantites", "nearest is quantities."), ("q7", "Le")]
)
def test_an_option_that_is_none_is_refused_with_the_nearest(model, out, option, hint):
    with pytest.raises(InputError, match=f"one of .*; found '{option}'") as refusal:
        collect.run("no model", "A_grand_unified", out, **{option: ["stream"]})
    assert hint in refusal.value.hint
    with pytest.raises(InputError, match="The nearest is batch_size"):
        collect.measure_step(model, None, [[5]], out, step=1, model_id="own/model", batchsize=1)
    assert not out.exists()


def test_what_may_be_several_may_be_one(model, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import collect\n"
        "@collect.quantity('alone', unit='1', description='One for each token')\n"
        "def alone(site, layer, states, attention):\n"
        "    return states[:, 0] * 0 + 1\n"
    )
    assert set(collect.measure(model, None, [[5, 6]], quantities="stream")) >= {"residual_norm"}
    how = {"register": tmp_path / "mine.py", "quantities": "alone"}
    with pytest.raises(InputError, match="'no model at all' is neither"):
        collect.run("no model at all", "A_grand_unified", tmp_path / "out", **how)
    assert Settings.given({"allow_nonconforming": "me"}).allow_nonconforming == ("me",)
    following = collect.MeasurementCallback(tmp_path, [[5]], every=1, quantities="stream")
    assert following._how["quantities"] == "stream"
    with pytest.raises(InputError, match="found 'steam'"):
        collect.MeasurementCallback(tmp_path, [[5]], every=1, quantities="steam")


def test_a_quantity_is_named_by_its_function_too(model):
    @collect.quantity("ones", unit="1", description="One for each token")
    def ones(site, layer, states, attention):
        return states[:, 0] * 0 + 1

    for asked in (ones, [ones], ["ones"]):
        rows = collect.measure(model, None, [[5, 6]], quantities=asked)["own_value"]
        assert set(rows["measure"]) == {"ones"}
    for wrong in (len, [3]):
        with pytest.raises(
            InputError, match=r"A quantity must be a name, or a quantity of one's own; found "
        ):
            collect.measure(model, None, [[5, 6]], quantities=wrong)


@pytest.mark.parametrize(
    ("wrong", "sentence", "hint"),
    [
        ({"models": []}, "At least one model must be given; there is none.", "Name one."),
        ({"models": None}, "Models must be given as names or paths; found NoneType.", "Give check"),
        ({"models": [nn.Identity()]}, "Models .* found Identity.", "takes a model object"),
        ({"prompts": None}, "Prompts must be given as .* found NoneType.", r"or \[\] to measure"),
        ({"allow_nonconforming": True}, "Models that need not .* found bool.", "Name those"),
        ({"register": 3}, "Files that register .* found int.", "Name files that end in .py"),
        ({"out": None}, "The output must be the path of a directory; found NoneType.", "Give out"),
        ({"device": 0}, "The device must be cpu, .* found 0.", "--device cpu"),
        ({"device": torch.device("cpu")}, "found device.type='cpu'.", "--device cpu"),
        ({"engine": "rai"}, "must be one of local, ray; found 'rai'", "The nearest is ray."),
    ],
)
def test_a_run_of_nothing_or_of_another_type_is_refused(tmp_path, wrong, sentence, hint):
    given = {"models": "no model", "prompts": [], "out": tmp_path / "out", **wrong}
    with pytest.raises(InputError) as refusal:
        collect.run(**given)
    assert re.search(sentence, refusal.value.problem)
    assert re.search(hint, refusal.value.hint)


def returning_more(model):
    model.set_attn_implementation("eager")  # the library asks for it
    model.config.return_dict = False
    model.config.output_hidden_states = model.config.output_attentions = True


@pytest.mark.parametrize(
    "around",
    [
        lambda _: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda _: torch.device("meta"),
        lambda _: torch.inference_mode(),
        lambda model: returning_more(model) or contextlib.nullcontext(),
    ],
)
def test_the_numbers_are_the_same_whatever_the_program_computes_in(model, tokenizer, around):
    expected = collect.measure(model, tokenizer, TEXTS, quantities="all")
    with around(model):
        result = collect.measure(model, tokenizer, TEXTS, quantities="all")
    for table in expected.keys() - {"run", "model"}:
        names = [name for name in expected[table] if name != "run_id"]
        pd.testing.assert_frame_equal(result[table][names], expected[table][names])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"dtype": "bfloat16"}, "with dtype float32; found dtype bfloat16"),
        ({"stream": True}, "with stream False; found stream True"),
    ],
)
def test_a_step_is_not_measured_otherwise_than_the_model_is(model, tmp_path, asked, said):
    how = {"prompts": [[5, 6]], "out": tmp_path / "out", "step": 1, "model_id": "own/model"}
    with pytest.raises(InputError, match=said):
        collect.measure_step(model, None, **how, **asked)
    (done,) = collect.measure_step(model, None, **how, dtype="float32")
    assert done.state == "measured"


def test_a_type_whose_attention_is_chosen_when_it_is_loaded_says_how(tokenizer):
    config = transformers.FalconConfig(
        vocab_size=257, hidden_size=32, num_hidden_layers=1, num_attention_heads=4
    )
    falcon = transformers.FalconForCausalLM(config)
    with pytest.raises(ConformanceError, match="the model reports 'sdpa'") as refusal:
        collect.measure(falcon, tokenizer, TEXTS, quantities="stream")
    assert "attn_implementation='eager'" in refusal.value.hint
    eager = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    assert len(collect.measure(eager, tokenizer, TEXTS, quantities="stream")["next_token"]) == 3
