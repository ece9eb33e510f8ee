"""Units of measurement: what identifies one, what it is called, and what contradicts it.

A run is the weights of a checkpoint, or a checkpoint on a prompt set, measured in one way; a unit
is a run and those of its quantities that were measured together. Its file in table ``run`` is
written last and is the mark that the unit is complete. No torch here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError
from collect.record.writer import write_table
from collect.schema.headers import is_pack
from collect.schema.marks import Mark, quantities_of

#: What the units of one model must share within an output, whatever the revision.
_OF_MODEL = ("schema_version", "measurement_version", "torch_version", "transformers_version")

#: What the units of one revision of a model must share besides.
_OF_REVISION = ("weights_sha256", "config_sha256", "adapter")

#: What the identity of a run leaves out: which quantities were asked for; how those of one's own
#: are defined, which is compared name by name; and where the weights were found, which their hash
#: determines as it does the format they are stored in.
APART = ("quantities", "definitions", "revision", "revision_name", "dtype_weights")

#: Versions of the schema in which everything was part of the identity.
_EARLIER = (1, 2)

_ANOTHER_WAY = (
    "Add --overwrite to measure it again, or choose another --out; prompts under another name "
    "stand side by side."
)

#: What stands between the name of a run and the quantities of a later unit of it.
_LATER = ","

#: Longest name of a file of a table [bytes], and signs of a device's name that are kept in it.
_LONGEST_STEM, _DEVICE_SIGNS = 240, 24

#: What the row of a run says of what nobody here saw: weights, their format, the code that ran.
UNSEEN = "unseen"

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of measurement.

    Attributes
    ----------
    determinants
        Everything that determines the numbers, up to rounding: model, weights, prompts,
        rendering, formats, versions. The batch size is not among them, because a batch equals
        one prompt at a time; nor whether the model was loaded or streamed; nor is time.
    labels
        Lab, suite, year and base model, which the numbers do not depend on.
    is_later
        True when other quantities of the same run were measured before.
    replaces
        Run files of an output whose place it takes.
    """

    determinants: Mapping[str, Any]
    labels: Mapping[str, Any]
    is_later: bool = False
    replaces: tuple[Path, ...] = ()

    @property
    def run_id(self) -> str:
        """First 16 hexadecimal digits of the hash of the identity."""
        return run_id(self.determinants)

    @property
    def quantities(self) -> tuple[str, ...]:
        """What the unit holds of its run."""
        return quantities_of(self.determinants)

    @property
    def identity(self) -> dict[str, Any]:
        """The determinants that identify the run."""
        return {name: value for name, value in self.determinants.items() if name not in APART}

    @property
    def variant(self) -> str:
        """Name of the files of the run's first unit: what is measured, and how."""
        known = self.determinants
        stem = file_stem(known["model_id"], known["prompt_set"], known.get("revision_name"))
        return "+".join([stem, *self._ways])

    @property
    def _ways(self) -> list[str]:
        """In what the run is other than plain, of default tokens, float32, on the processor."""
        known = self.determinants
        tokens, device = known.get("special_tokens") or "default", str(known.get("device", "cpu"))
        dtype = known.get("dtype_compute", "float32")
        named = {
            "chat": known.get("rendering") == "chat",
            f"special-{tokens}": tokens != "default",
            dtype: dtype != "float32",
            f"{known.get('perturbation')}-{known.get('perturbation_seed')}": "perturbation"
            in known,
            re.sub(r"[^A-Za-z0-9]+", "-", device)[:_DEVICE_SIGNS].strip("-"): device
            not in ("cpu", UNSEEN),
        }
        return [name for name, is_other in named.items() if is_other]

    @property
    def stem(self) -> str:
        """Name of the unit's files, without suffix: a later unit names its quantities."""
        stem = _LATER.join([self.variant, *(self.quantities if self.is_later else ())])
        if len(stem.encode()) <= _LONGEST_STEM:
            return stem
        return f"{self.variant}{_LATER}{hashlib.sha256(stem.encode()).hexdigest()[:8]}"

    @property
    def title(self) -> str:
        """Name of the unit for people."""
        revision = self.determinants.get("revision_name")
        at = f" at {revision}" if revision else ""
        what = self.determinants["prompt_set"] or "weights"
        ways = f" in {' and '.join(self._ways)}" if self._ways else ""
        later = f", {' and '.join(self.quantities)}" if self.is_later else ""
        return f"{self.determinants['model_id']}{at}, {what}{ways}{later}"

    def part(
        self,
        quantities: Sequence[str],
        *,
        is_later: bool = False,
        replaces: tuple[Path, ...] = (),
    ) -> Unit:
        """Return the unit of the same run with other quantities."""
        asked = {**self.determinants, "quantities": ",".join(quantities)}
        return Unit(asked, self.labels, is_later, replaces)

    def refuse_otherwise(self, mark: Mark, out: Path, if_other_weights: str) -> None:
        """Raise InputError if an output holds the same unit measured otherwise, as a mark says.

        ``if_other_weights`` is what to do where its weights are others.
        """
        known, new = mark.determinants, {**self.identity, **self.labels}
        reasons = _join(differences({**known, **mark.labels}, new), self._redefinitions(known))
        if reasons:
            is_same = known.get("weights_sha256") == self.determinants["weights_sha256"]
            raise InputError(
                f"A unit must be measured in one way only; {out} holds {self.title} measured "
                f"differently: {reasons}.",
                _ANOTHER_WAY if is_same else if_other_weights,
            )

    def conflicts(self, other: Mapping[str, Any]) -> str:
        """Return how another unit's determinants contradict these, empty when in nothing."""
        new = self.determinants
        is_same_model = other["model_id"] == new["model_id"]
        shared = [*_OF_MODEL] if is_same_model else []
        if is_same_model and other.get("revision_name") == new.get("revision_name"):
            shared += _OF_REVISION
        if new["prompt_set"] is not None and other["prompt_set"] == new["prompt_set"]:
            shared += ["prompt_set_sha256"]
        otherwise = differences({n: other.get(n) for n in shared}, {n: new[n] for n in shared})
        return _join(otherwise, self._redefinitions(other) if is_same_model else "")

    def _redefinitions(self, other: Mapping[str, Any]) -> str:
        """Return which quantities that two units hold are defined differently."""
        old, new = (of.get("definitions") or {} for of in (other, self.determinants))
        both = {*quantities_of(other)} & {*self.quantities}
        changed = sorted(name for name in both if old.get(name) != new.get(name))
        return ", ".join(f"{name} is defined otherwise" for name in changed)


def run_id(determinants: Mapping[str, Any]) -> str:
    """Return the first 16 hexadecimal digits of the hash of the determinants of a run's identity.

    Quantities, commit and stored format are not among them, unless a unit was measured by a
    version that counted them.
    """
    is_earlier = determinants.get("schema_version") in _EARLIER
    identifying = {n: v for n, v in determinants.items() if is_earlier or n not in APART}
    canonical = json.dumps(identifying, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def variant_of(stem: str) -> str:
    """Return the name of the first unit of the run that a unit of this name belongs to.

    >>> variant_of("acme--tiny~step10@S+bfloat16,predictions")
    'acme--tiny~step10@S+bfloat16'
    """
    return stem.partition(_LATER)[0]


def run_file(out: Path, unit: Unit) -> Path:
    """Return the file that marks a unit as complete."""
    return out / "run" / f"{unit.stem}.parquet"


def run_files(out: Path) -> list[Path]:
    """Return the run files of an output directory, of units and of packs, sorted."""
    with suppress(FileNotFoundError, NotADirectoryError):
        (out / "run").stat()
    paths = sorted((out / "run").glob("*.parquet"))
    if not paths:
        raise InputError(
            f"There must be units of measurement in {out}; no run file was found in {out / 'run'}.",
            "Name the directory given to `collect run` as --out.",
        )
    return paths


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return in which entries of the new one two mappings differ, in words; empty when in none."""
    names = [name for name in new if old.get(name) != new[name]]
    return "; ".join(
        f"{name} is {_short(old.get(name))} there and {_short(new[name])} here" for name in names
    )


def _join(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _short(value: Any) -> str:
    """Return a value for people, a hash by its first 8 digits."""
    text = str(value)
    return text[:8] if _HASH.fullmatch(text) else text


#: Name of the revision that the hub gives when none is asked for.
_DEFAULT = "main"

#: Digits of a hash in the name of a file.
_DIGITS = 10


def write_revision(
    unit: Unit, out: Path, *, training_step: int | None, training_tokens: int | None
) -> None:
    """Note at which commit the name of a revision stood, and which weights it holds.

    A row that is there already stays as it is. A local checkpoint that is not one of several has
    no revision, and no row.
    """
    known = unit.determinants
    if known["revision"] is None:
        return
    name = known["revision_name"] or _DEFAULT
    names = ("model_id", "revision", "weights_sha256", "config_sha256")
    row = {
        **{column: known[column] for column in names},
        "revision_name": name,
        "training_step": training_step,
        "training_tokens": training_tokens,
    }
    commit = re.sub(r"[^\w.-]", "--", str(known["revision"]))[:_DIGITS]
    content = str(known["weights_sha256"])[:_DIGITS]
    stem = f"{file_stem(known['model_id'], None, name)}~{commit}~{content}"
    path = out / "revision" / f"{stem}.parquet"
    if not path.exists():
        write_table("revision", pd.DataFrame([row]), path)


#: Longest name of a unit [bytes]: file systems take 255, of which a temporary file needs some more.
STEM_BYTES = 200


def file_stem(
    model_id: str, prompt_set: str | None = None, revision_name: str | None = None
) -> str:
    """Return the file name, without suffix, of one unit of measurement.

    Examples
    --------
    >>> file_stem("EleutherAI/pythia-70m", "B_pythia_sweep")
    'EleutherAI--pythia-70m@B_pythia_sweep'
    >>> file_stem("EleutherAI/pythia-70m", None, "step1000")
    'EleutherAI--pythia-70m~step1000'
    """
    stem = _model_part(model_id)
    if revision_name is not None:
        stem = f"{stem}~{revision_name.replace('/', '--')}"
    if prompt_set is not None:
        stem = f"{stem}@{prompt_set}"
    try:
        n_bytes = len(stem.encode("utf-8"))
    except UnicodeEncodeError:
        n_bytes = 0
    is_printable = not any(ord(sign) < 32 or ord(sign) == 127 or sign == "\\" for sign in stem)
    if is_pack(stem):
        raise InputError(
            f"The names of a model and a revision must not make that of packed units; {stem} is "
            "such a name.",
            "Rename the checkpoint's directory.",
        )
    if not 0 < n_bytes <= STEM_BYTES or not is_printable:
        raise InputError(
            f"The names of a model and a prompt set must make a file name: at most {STEM_BYTES} "
            f"bytes of UTF-8 without control characters. Found {stem[:60]!a} "
            f"({len(stem)} characters).",
            "Rename the checkpoint's directory or the prompt file.",
        )
    return stem


def is_of_model(model_id: str, stem: str) -> bool:
    """Return whether the name of a unit may be of a model; a longer one may be of another."""
    return stem.startswith(_model_part(model_id))


def is_of_prompt_set(prompt_set: str, stem: str) -> bool:
    """Return whether the name of a unit may be of a prompt set."""
    return f"@{prompt_set}" in stem


def _model_part(model_id: str) -> str:
    return model_id.replace("/", "--")
