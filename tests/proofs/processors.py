"""Run the tests that compare digits as other processors would.

The command is ``python -m tests.proofs.processors``.

Libraries choose their kernels by the processor they find. Variables of the environment make them
choose as on another one, as far as this one knows the instructions: what it lacks is left out, with
a reason. Each setting is one run of pytest over every test file that compares numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: What a test file holds that compares numbers by more than a few digits.
_COMPARES = re.compile(
    r"approx\(|allclose|torch\.equal|assert_frame_equal|assert_array_equal|tobytes|bit for bit"
    r"|rel=|rtol|atol|< 1e-|deviation"
)

#: Test files whose subject is another one than numbers, though they compare some.
_NOT_NUMBERS = ("report", "chart", "exhibit", "typeface", "glossary", "cli", "proofs", "benchmarks")

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Setting:
    """How one run differs from the plain one.

    Attributes
    ----------
    name
        As the table prints it.
    environment
        Variables beside those of one thread.
    options
        Of pytest.
    instructions
        What the processor must have, as ``/proc/cpuinfo`` calls it.
    of_torch
        Whether only torch heeds it, which ``analysis`` never imports.
    """

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    of_torch: bool = False


def settings() -> Iterator[Setting]:
    """Yield every setting; whether this processor can play it is asked elsewhere."""
    yield Setting("plain")
    yield Setting("two threads", dict.fromkeys(_ONE_THREAD, "2"))
    yield from _of_torch()
    yield from _of_numpy()
    for n_workers in (1, 4):
        yield Setting(f"workers: {n_workers}", {}, ("-n", str(n_workers), "--dist", "loadfile"))


def _of_torch() -> Iterator[Setting]:
    needed = {"default": (), "avx2": ("avx2", "fma"), "avx512": ("avx512f", "avx512vl")}
    for capability, instructions in needed.items():
        variables = {"ATEN_CPU_CAPABILITY": capability}
        yield Setting(f"torch's own kernels: {capability}", variables, (), instructions, True)
    for dispatch, instructions in {"COMPATIBLE": (), "AVX2": ("avx2",)}.items():
        yield Setting(f"MKL: {dispatch}", {"MKL_CBWR": dispatch}, (), instructions, True)
    without = ("-p", "tests.proofs.without_onednn")
    yield Setting("without oneDNN", {}, without, (), True)


def _of_numpy() -> Iterator[Setting]:
    core_types = {
        "Prescott": (),
        "Haswell": ("avx2", "fma"),
        "Zen": ("avx2", "fma"),
        "SkylakeX": ("avx512f", "avx512vl"),
    }
    for core_type, instructions in core_types.items():
        yield Setting(f"OpenBLAS: {core_type}", {"OPENBLAS_CORETYPE": core_type}, (), instructions)
    older = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"}
    yield Setting("numpy's own loops without AVX512", older, (), ("avx512f",))


def instructions() -> set[str]:
    """Return the instructions of this processor; none where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return set()
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())


def sensitive_files(pattern: str) -> list[str]:
    """Return the test files that compare numbers and match a pattern, from the root."""
    paths = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))
    return [
        str(path)
        for path in paths
        if re.search(pattern, str(path))
        and not any(word in str(path) for word in _NOT_NUMBERS)
        and _COMPARES.search((ROOT / path).read_text(encoding="utf-8"))
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one setting gave; ``failures`` are pytest's lines."""

    setting: str
    summary: str
    failures: tuple[str, ...]
    seconds: float


def outcome(setting: Setting, files: Sequence[str], marks: str) -> Outcome:
    """Run the tests of some files under a setting."""
    if setting.of_torch:
        files = [path for path in files if path.startswith("tests/collect")]
    environment = os.environ | _ONE_THREAD | setting.environment | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "--durations=0", "-m", marks]
    started = time.perf_counter()
    found = subprocess.run(
        [*command, *setting.options, *files],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (found.stdout + found.stderr).splitlines()
    failures = tuple(line for line in lines if line.startswith(("FAILED", "ERROR")))
    summary = next((line for line in reversed(lines) if " in " in line and "passed" in line), "")
    if found.returncode and not failures:
        failures = tuple(lines[-5:])
    return Outcome(setting.name, summary, failures, time.perf_counter() - started)


def versions() -> dict[str, str]:
    """Return what decides the kernels: processor, libraries, commit."""
    probe = (
        "import json, numpy, scipy, torch\n"
        "print(json.dumps({'torch': torch.__version__, 'numpy': numpy.__version__, "
        "'scipy': scipy.__version__, 'kernels': torch.backends.cpu.get_cpu_capability()}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="ascii"))
    processor = model.group(1) if model else platform.processor()
    return {"commit": commit, "processor": processor, "python": platform.python_version()} | dict(
        json.loads(found.stdout)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every setting that this processor can play; return 1 if a test fell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", default="", help="test files, as a regular expression")
    parser.add_argument("--only", default="", help="settings, as a regular expression")
    parser.add_argument("--marks", default="not slow", help="marks of pytest; all tests: ''")
    parser.add_argument("--write", type=Path, help="file to write the result to as well")
    options = parser.parse_args(arguments)
    files, known = sensitive_files(options.files), instructions()
    told = [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {len(files)} test files"]
    told += [f"{name}: {value}" for name, value in versions().items()]
    print("\n".join(told), flush=True)
    n_fallen = 0
    for setting in settings():
        if not re.search(options.only, setting.name):
            continue
        missing = sorted(set(setting.instructions) - known)
        if missing:
            lines = [f"{setting.name}: not run, this processor has no {', '.join(missing)}"]
        else:
            found = outcome(setting, files, options.marks)
            n_fallen += bool(found.failures)
            lines = [f"{setting.name}: {found.summary}", *(f"  {f}" for f in found.failures)]
        told += lines
        print("\n".join(lines), flush=True)
    if options.write is not None:
        options.write.write_text("\n".join(told) + "\n", encoding="utf-8")
    return 1 if n_fallen else 0


if __name__ == "__main__":
    sys.exit(main())
