"""Every measured type is run with heads of another width than usual, shared heads and a window.

As far as its configuration has such an entry: the tests of the tiny models then run with it.
"""

import pytest
import transformers

from tests.collect import families, partial_families

TINY = [*families.CONFIGURATIONS.values(), *partial_families.CONFIGURATIONS.items()]

_LATENT = "its keys and values come out of one vector, as many of them as queries"
_AS_WIDE = "its own code asks for heads that are together as wide as the stream"
_OF_ATTENTION_SHARED = "its code shares one attention among blocks, with as many keys as queries"

#: Types that cannot be run with an entry that their configuration has, and why.
CANNOT = {
    "head_dim": {"helium": _AS_WIDE},
    "num_key_value_heads": dict.fromkeys(("zamba", "zamba2"), _OF_ATTENTION_SHARED)
    | dict.fromkeys(
        (
            *("axk1", "axk2", "bailing_hybrid", "deepseek_v2", "deepseek_v3", "deepseek_v32"),
            *("dots3_note_text", "glm4_moe_lite", "glm_moe_dsa", "kimi_linear", "longcat_flash"),
            *("minicpm3", "youtu"),
        ),
        _LATENT,
    ),
    "sliding_window": {},
}


def is_of_another_width(config, given):
    """Return whether heads are not the stream's width over their number."""
    n_heads, width = config.get("num_attention_heads"), config.get("hidden_size")
    return "head_dim" in given and given["head_dim"] * (n_heads or 1) != width


def are_shared(config, _):
    """Return whether several query heads read the same keys."""
    n_heads = config.get("num_attention_heads") or config.get("num_heads")
    return config["num_key_value_heads"] not in (None, n_heads)


def has_window(config, _):
    """Return whether attention reaches back a few tokens only, fewer than a prompt has."""
    return (config["sliding_window"] or 99) < 7


@pytest.mark.parametrize(
    ("entry", "is_unusual"),
    [
        ("head_dim", is_of_another_width),
        ("num_key_value_heads", are_shared),
        ("sliding_window", has_window),
    ],
)
def test_a_type_is_run_with_whatever_shape_its_configuration_has(entry, is_unusual):
    usual, unusual = set(), set()
    for model_type, given in TINY:
        config = transformers.AutoConfig.for_model(model_type, **given).to_dict()
        if entry in transformers.AutoConfig.for_model(model_type).to_dict():
            (unusual if is_unusual(config, given) else usual).add(model_type)
    for model_type, reason in CANNOT[entry].items():
        print(f"{model_type} is not run with another {entry}: {reason}")
    assert sorted(usual - unusual) == sorted(CANNOT[entry])
    assert len(unusual) > 40
