"""Memory and time of the ways to a model larger than memory, on 1.2 billion random parameters.

``python -m tests.benchmarks.streaming`` makes a Llama-like checkpoint in bfloat16 and measures each
way in a process of its own, on one thread: the largest resident set, and what it is more than that
of an interpreter with the libraries.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

N_PROMPTS, N_TOKENS = 8, 64
MEBIBYTE = 1 << 20
WAYS = {
    **{"interpreter": "interpreter + libraries", "loaded": "loaded, bfloat16"},
    **{"streamed": "streamed, bfloat16", "loaded float32": "loaded, float32"},
    **{"streamed float32": "streamed, float32", "spectra": "weights from the files"},
}


def main() -> None:
    """Make the checkpoint, measure every way and print both tables."""
    with tempfile.TemporaryDirectory() as directory:
        n_bytes = _in_a_process("make", directory)["n_bytes"]
        figures = {way: _in_a_process(way, directory) for way in WAYS}
    _print_passes(n_bytes, figures)
    _print_singular_values(_in_a_process("singular", ""))


def _in_a_process(way: str, directory: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.streaming", way, directory]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return figures


def _print_passes(n_bytes: int, figures: dict[str, dict[str, Any]]) -> None:
    base = figures["interpreter"]["peak"]
    print(
        f"1.2 billion parameters, {n_bytes / MEBIBYTE:.0f} MiB of files; {N_PROMPTS} prompts of "
        f"{N_TOKENS} tokens, 1 thread"
    )
    print(f"{'':<26}{'peak MiB':>10}{'more MiB':>10}{'CPU s':>8}  numbers")
    for way, title in WAYS.items():
        result = figures[way]
        more = (result["peak"] - base) / MEBIBYTE
        print(
            f"{title:<26}{result['peak'] / MEBIBYTE:>10.0f}{more:>10.0f}{result['seconds']:>8.1f}"
            f"  {result['digest'][:12]}"
        )
    for suffix in ("", " float32"):
        loaded, streamed = (figures[way + suffix] for way in ("loaded", "streamed"))
        share = (loaded["peak"] - base) / (streamed["peak"] - base)
        same = "the same" if loaded["digest"] == streamed["digest"] else "OTHER"
        print(f"streaming{suffix}: 1/{share:.1f} of the memory, {same} numbers")


def _print_singular_values(result: dict[str, Any]) -> None:
    print("\nlargest singular value of each of 32 heads, 4096 x 128, times 32 layers")
    print(f"{'products alone':<26}{result['products']:>8.2f} s")
    print(f"{'sigma_max and Frobenius':<26}{result['norms']:>8.2f} s")
    print(f"{'ratio':<26}{result['norms'] / result['products']:>8.2f}")
    for kind, error in result["errors"].items():
        print(f"{'error, ' + kind:<26}{error:>8.0e}")


def _make(directory: Path) -> dict[str, Any]:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32_000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=24,
        num_attention_heads=16,
        num_key_value_heads=4,
        max_position_embeddings=2048,
    )
    model = LlamaForCausalLM._from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(directory, max_shard_size="350MB")
    return {"n_bytes": sum(path.stat().st_size for path in directory.glob("*.safetensors"))}


class _Digest:
    """A watcher that keeps a hash of every block's output, of the last states and logits."""

    def __init__(self) -> None:
        self.solution: dict[tuple[int, int], bytes] = {}
        self.index = 0
        self.decoder: Any = None

    @contextmanager
    def attached(self, decoder: Any) -> Iterator[None]:
        self.decoder = decoder
        hooks = [
            block.register_forward_hook(self._keeper(layer))
            for layer, block in enumerate(decoder.blocks)
        ]
        yield
        for hook in hooks:
            hook.remove()

    def watch(self, index: int) -> None:
        self.index = index

    def finish(self, index: int, states: Any) -> None:
        self._keep(index, -1, states)
        self._keep(index, -2, self.decoder.next_token_logits(states[:, -1]))

    def _keeper(self, layer: int) -> Callable[..., None]:
        return lambda _module, _args, output: self._keep(
            self.index, layer, output[0] if isinstance(output, tuple) else output
        )

    def _keep(self, index: int, place: int, numbers: Any) -> None:
        content = numbers.double().numpy().tobytes()
        self.solution[index, place] = hashlib.sha256(content).digest()

    def hexdigest(self) -> str:
        """Return a hash over all that was kept, in whichever order it came."""
        return hashlib.sha256(
            b"".join(self.solution[key] for key in sorted(self.solution))
        ).hexdigest()


def _run(directory: Path, *, dtype: str, is_streamed: bool) -> str:
    import torch

    from collect.model.checkpoint.blueprint import model_blueprint
    from collect.model.checkpoint.load import load_model, load_skeleton
    from collect.model.checkpoint.location import locate
    from collect.model.checkpoint.shards import Shards
    from collect.model.forward.passes import whole
    from collect.model.forward.stream import streamed
    from collect.prompts.tokens import Encoded

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 32_000, (N_PROMPTS, N_TOKENS), generator=generator).tolist()
    prompts = [Encoded(f"P:{n}", tuple(row), (False,) * N_TOKENS) for n, row in enumerate(ids)]
    batches = [tuple(prompts[:4]), tuple(prompts[4:])]
    checkpoint, digest = locate(str(directory)), _Digest()
    if is_streamed:
        skeleton = load_skeleton(checkpoint, dtype=dtype)
        shards = Shards(checkpoint, model_blueprint(skeleton.model))
        list(streamed(skeleton, batches, digest, shards=shards))
    else:
        list(whole(load_model(checkpoint, dtype=dtype), batches, digest))
    return digest.hexdigest()


def _spectra(directory: Path) -> str:
    from collect.instruments.weights import spectra
    from collect.model.checkpoint.location import locate

    rows = spectra.rows(locate(str(directory)))
    return hashlib.sha256(repr(rows["weight_norm"]).encode()).hexdigest()


def _singular_values() -> dict[str, Any]:
    import torch

    from collect.instruments.weights.singular import head_norms

    generator = torch.Generator().manual_seed(0)
    kinds = {}
    kinds["random"] = 0.02 * torch.randn(32, 128, 4096, generator=generator)
    spikes = torch.randn(32, 128, 1, generator=generator)
    kinds["one large"] = kinds["random"] + 0.01 * spikes * torch.randn(4096, generator=generator)
    left, _, right = torch.linalg.svd(kinds["random"][:4], full_matrices=False)
    values = torch.linspace(1, 0.1, 128)
    values[1] = 0.9999
    kinds["two alike"] = left * values @ right
    errors = {}
    for kind, heads in kinds.items():
        true = torch.linalg.svdvals(heads[:4].double())[:, 0]
        errors[kind] = float((head_norms(heads[:4]).sigma_max / true - 1).abs().max())
    heads = kinds["random"]
    ways: tuple[Callable[[], object], ...] = (lambda: heads @ heads.mT, lambda: head_norms(heads))
    products, norms = (_seconds(way, repeats=32) for way in ways)
    return {"products": products, "norms": norms, "errors": errors}


def _seconds(act: Callable[[], object], *, repeats: int) -> float:
    act()
    start = time.process_time()
    for _ in range(repeats):
        act()
    return time.process_time() - start


def _peak() -> int:
    """Return the largest resident set of this process [bytes]."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _child(way: str, directory: Path) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    if way != "spectra":  # the pass over the weights needs no code of a model
        from transformers import LlamaForCausalLM  # noqa: F401
    if way == "make":
        return _make(directory)
    if way == "singular":
        return _singular_values()
    start, digest = time.process_time(), ""
    if way == "spectra":
        digest = _spectra(directory)
    elif way != "interpreter":
        name, _, dtype = way.partition(" ")
        digest = _run(directory, dtype=dtype or "bfloat16", is_streamed=name == "streamed")
    return {"peak": _peak(), "seconds": time.process_time() - start, "digest": digest}


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        print(json.dumps(_child(sys.argv[1], Path(sys.argv[2]))))
