"""A fitted model at a theta of the caller's, such as another program's optimum."""

from __future__ import annotations

from dataclasses import replace

from analysis.mixed.inference.fixed_effects import Inference
from analysis.mixed.model import MixedModel
from analysis.tidy.frame import Floats


def at_theta(model: MixedModel, theta: Floats) -> MixedModel:
    """Return the model at a theta, one element per element of the lower triangles."""
    return replace(model, inference=Inference.at(model.cross, theta, reml=model.reml))


def plain(name: str) -> str:
    """Return a name that is the same in R's and patsy's spelling."""
    for junk in ("(", ")", "[T.", "[", "]", " "):
        name = name.replace(junk, "")
    return ":".join(sorted(name.replace("**", "^").split(":")))
