"""Cost of collecting beside a bare forward pass, both in one process, interleaved.

Run with ``make benchmark``. Prints one table: median milliseconds and the median of the paired
ratios. Nothing is asserted; a time is a property of a machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from collect.adapters import Heads, adapter_for
from collect.hooks import observe
from collect.load import Decoder
from collect.tokens import Encoded, right_padded

REPEATS = 15
N_PROMPTS, N_TOKENS = 8, 64


def main() -> None:
    """Time both passes and print the table."""
    torch.set_num_threads(1)
    decoder = _decoder()
    prompts = [_prompt(index) for index in range(N_PROMPTS)]
    bare, collecting = _paired(lambda: _bare(decoder, prompts), lambda: observe(decoder, prompts))
    ratios = [b / a for a, b in zip(bare, collecting, strict=True)]
    print(f"GPT-2, 12 blocks of width 256; {N_PROMPTS} prompts of {N_TOKENS} tokens, 1 thread")
    print(f"{'bare eager forward':<22}{1000 * statistics.median(bare):8.1f} ms")
    print(f"{'collecting':<22}{1000 * statistics.median(collecting):8.1f} ms")
    print(f"{'median paired ratio':<22}{statistics.median(ratios):8.2f}")


def _decoder() -> Decoder:
    config = GPT2Config(
        n_embd=256, n_layer=12, n_head=8, vocab_size=5000, bos_token_id=0, eos_token_id=0
    )
    config._attn_implementation = "eager"
    return Decoder(adapter_for("gpt2"), GPT2LMHeadModel(config).eval(), Heads(8, 8, 32))


def _prompt(index: int) -> Encoded:
    tokens = torch.Generator().manual_seed(index)
    ids = torch.randint(0, 5000, (N_TOKENS,), generator=tokens).tolist()
    return Encoded(f"P:{index:02d}", tuple(ids), (False,) * N_TOKENS)


def _bare(decoder: Decoder, prompts: list[Encoded]) -> None:
    with torch.inference_mode():
        decoder.body(**right_padded(prompts, torch.device("cpu")), use_cache=False)


def _paired(first: Callable[[], object], second: Callable[[], object]) -> list[list[float]]:
    times: list[list[float]] = [[], []]
    for _ in range(REPEATS):
        for timed, act in zip(times, (first, second), strict=True):
            start = time.process_time()
            act()
            timed.append(time.process_time() - start)
    return times


if __name__ == "__main__":
    main()
