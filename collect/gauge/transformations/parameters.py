"""The parameters of a model by name, each claimed by the place that it has in the network."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from collect.gauge.transformations.matrix import Matrix, Norm

#: Parameters that no transformation touches and that none of them need know.
_UNTOUCHED = (".sinks", ".act_fn.alpha_p", ".act_fn.alpha_n")


class Parameters:
    """The parameters of a model by name, which remembers what was asked for."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.known = {name: parameter.data for name, parameter in model.named_parameters()}
        self.claimed: set[str] = set()

    def has(self, name: str) -> bool:
        """Return whether the model has a parameter of that name."""
        return name in self.known

    def take(self, name: str) -> Tensor | None:
        """Return a parameter, None where there is none, and count it as claimed."""
        self.claimed.add(name)
        return self.known.get(name)

    def matrix(self, path: str, *, is_transposed: bool = False) -> Matrix | None:
        """Return the matrix of a module, or of a parameter with its ``_bias`` beside it."""
        if self.has(f"{path}.weight"):
            weight = self.take(f"{path}.weight")
            return Matrix(path, weight, self.take(f"{path}.bias"), is_transposed)  # type: ignore[arg-type]
        if self.has(path):
            weight = self.take(path)
            return Matrix(path, weight, self.take(f"{path}_bias"), is_transposed)  # type: ignore[arg-type]
        return None

    def norm(self, path: str | None, offset: float, readers: tuple[Matrix, ...]) -> Norm | None:
        """Return a norm; None where the model has no such module."""
        module = None if path is None else module_at(self.model, path)
        if module is None or path is None:
            return None
        gain, bias = self.take(f"{path}.weight"), self.take(f"{path}.bias")
        return Norm(path, gain, bias, offset, readers, module)

    def unclaimed(self) -> list[str]:
        """Return the names of the parameters that nobody took and that have to have a place."""
        left = set(self.known) - self.claimed
        return sorted(name for name in left if not name.endswith(_UNTOUCHED))


def module_at(model: Any, path: str) -> Any:
    """Return the module at a dotted path; None where there is none."""
    try:
        return model.get_submodule(path)
    except AttributeError:
        return None
