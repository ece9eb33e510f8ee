"""A prompt as a user's turn: what is the template's and what is the prompt's own."""

import pandas as pd
import pytest

from collect.errors import InputError
from collect.prompts.rendering import apply_template, check_template, user_turn
from collect.prompts.tokens import encode
from tests.collect.conftest import tiny_tokenizer

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}]"
    "{{ message['content'] | trim }}[end]{% endfor %}"
    "{% if add_generation_prompt %}[model]{% endif %}"
)
PROMPTS = pd.DataFrame({"prompt_id": ["x:00", "x:01"], "text": ["user", " hé "]})


def turn(text, tokenizer):
    return apply_template([user_turn(text)], tokenizer)[0]


@pytest.fixture
def tokenizer():
    """A tokenizer of bytes with a start token and a chat template."""
    result = tiny_tokenizer()
    result.chat_template = TEMPLATE
    return result


def test_a_prompt_is_told_apart_from_a_template_that_holds_the_same_word(tokenizer):
    rendered = turn("user", tokenizer)
    assert rendered.text == "<s>[user]user[end][model]"
    ((start, end),) = rendered.spans
    assert rendered.text[start:end] == "user"
    assert start == len("<s>[user]")


def test_every_turn_of_a_conversation_is_told_apart_from_the_template(tokenizer):
    turns = [
        {"role": "system", "content": "user"},
        {"role": "user", "content": " [end][user] "},
        {"role": "assistant", "content": "model"},
    ]
    answered, asked = apply_template([turns, turns[:2]], tokenizer)
    assert answered.text == "<s>[system]user[end][user][end][user][end][assistant]model[end]"
    printed = [answered.text[start:end] for start, end in answered.spans]
    assert printed == ["user", "[end][user]", "model"]
    assert asked.text.endswith("[end][user][end][model]")


def test_turns_texts_and_token_ids_stand_side_by_side_in_one_set(tokenizer):
    rows = pd.DataFrame(
        {
            "prompt_id": ["x:a", "x:b"],
            "format": ["turns", "text"],
            "text": ['[{"role": "user", "content": "é"}]', "é"],
        }
    )
    turns, text = encode(rows, tokenizer, rendering="chat")
    assert turns.token_ids == text.token_ids
    with pytest.raises(InputError, match="put into a chat template; x:a has turns") as refusal:
        encode(rows, tokenizer)
    assert "--chat-template" in refusal.value.hint


def test_token_ids_are_taken_as_they_are(tokenizer):
    rows = pd.DataFrame({"prompt_id": ["x:a"], "format": ["tokens"], "text": ["[256, 7, 8]"]})
    (given,) = encode(rows, tokenizer)
    assert given.token_ids == (256, 7, 8)
    assert given.is_special == (True, False, False)
    for how in ({"rendering": "chat"}, {"special_tokens": "always"}):
        with pytest.raises(InputError, match="Token ids must be taken as they are"):
            encode(rows, tokenizer, **how)


def test_tokens_of_the_template_are_special_and_those_of_the_prompt_are_not(tokenizer):
    first, second = encode(PROMPTS, tokenizer, rendering="chat")
    kept = [i for i, flag in zip(first.token_ids, first.is_special, strict=True) if not flag]
    assert tokenizer.decode(kept) == "user"
    assert first.token_ids[0] == 256
    assert len(first) == 1 + len("[user]user[end][model]")
    assert sum(not flag for flag in second.is_special) == len("hé".encode())


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{{ messages[0]['content'] | upper }}", "it changes 'some text'"),
        ("{{ raise_exception('no user here') }}", "render a user's turn; it fails: no user here"),
    ],
)
def test_a_template_that_changes_the_prompt_or_fails_is_refused(tokenizer, template, sentence):
    tokenizer.chat_template = template
    with pytest.raises(InputError, match=sentence):
        turn("some text", tokenizer)


def test_a_tokenizer_without_a_template_or_without_a_start_token_to_put_in_front_is_refused(
    tokenizer,
):
    check_template(tokenizer, "a/b")
    tokenizer.chat_template = tokenizer.bos_token = None
    with pytest.raises(InputError, match="that of a/b has none") as refusal:
        check_template(tokenizer, "a/b")
    assert "--chat-template" in refusal.value.hint
    with pytest.raises(InputError, match="A start token must be one of the tokenizer's") as refusal:
        encode(PROMPTS, tokenizer, special_tokens="always")
    assert "--special-tokens default" in refusal.value.hint


def by_policy(tokenizer):
    policies = ("default", "never", "always")
    return (encode(PROMPTS, tokenizer, special_tokens=each)[0] for each in policies)


def test_a_start_token_is_put_in_front_always_never_or_by_default_and_not_doubled(tokenizer):
    plain, never, always = by_policy(tokenizer)
    assert plain == never
    assert always.token_ids == (256, *plain.token_ids)
    assert always.is_special == (True, *plain.is_special)
    plain, never, always = by_policy(tiny_tokenizer(adds_start=True))
    assert plain == always
    assert plain.token_ids == (256, *never.token_ids)
    assert never.is_special == (False,) * 4


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "it takes more than 1 s",
        ),
        ("{{ 'a' * 40000000000 }}", "it asks for more than 512 MiB"),
        ("{{ 10 ** (10 ** 10) }}", "it (takes|asks for) more than"),
        ("{{ 'a' * 2000000 }}", "it adds more than 1,000,000 characters"),
    ],
)
def test_a_template_without_end_or_measure_is_refused(tokenizer, template, reason, monkeypatch):
    monkeypatch.setattr("collect.prompts.template.TIME_LIMIT_S", 1)
    tokenizer.chat_template = template
    with pytest.raises(InputError, match=f"must render a user's turn; it fails: {reason}"):
        turn("some text", tokenizer)
