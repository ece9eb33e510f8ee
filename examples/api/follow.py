"""A training followed with a quantity and prompts of one's own: follow.py [STORE]."""

import sys
from pathlib import Path

from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

import thermoscope as ts
from collect.prompts.tokenizer import byte_tokenizer


@ts.quantity("positive_share", unit="1", description="Share of features above 0")
def positive_share(site, layer, states, attention):
    """Return a number per token: states is (n_tokens, d)."""
    return (states > 0).double().mean(-1)


store, prompts = (sys.argv[1:] or ["runs/api"])[0], "examples/api/prompts.jsonl"
set_seed(0)
shape = {"vocab_size": 256, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
model = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0))
tokenizer = byte_tokenizer(64)
frames = ts.measure(model, tokenizer, prompts, quantities=["stream", "positive_share"])
print(frames["own_value"].groupby("layer")["value"].mean().round(3).to_string())

text = list(Path("data/text/kjv.txt").read_bytes()[: 64 * 160])
windows = [{"input_ids": text[n : n + 64], "labels": text[n : n + 64]} for n in range(0, 10240, 64)]
how = {"max_steps": 40, "learning_rate": 3e-3, "use_cpu": True, "save_strategy": "no"}
arguments = TrainingArguments(f"{store}-model", report_to=[], **how)
asked = ["stream", "positive_share", "logit_lens_entropy"]
follow = ts.MeasurementCallback(
    store, prompts, every=20, tokenizer=tokenizer, model_id="own/gpt2", quantities=asked
)
Trainer(model, arguments, train_dataset=windows, callbacks=[follow]).train()
by_step = """
    SELECT measure, training_step, layer, round(avg(value), 3) AS mean
      FROM own_value JOIN run_revision USING (run_id) GROUP BY ALL ORDER BY ALL"""
print(ts.open_store("data/published", store).query(by_step).to_string(index=False))
