"""A fitted model at a theta of the caller's, such as another program's optimum."""

from dataclasses import replace

from analysis.mixed.inference.fixed_effects import Inference


def at_theta(model, theta):
    """Return the model at a theta, one element per element of the lower triangles."""
    return replace(model, inference=Inference.at(model.cross, theta, reml=model.reml))


def plain(name):
    """Return a name that is the same in R's and patsy's spelling."""
    for junk in ("(", ")", "[T.", "[", "]", " "):
        name = name.replace(junk, "")
    return ":".join(sorted(name.replace("**", "^").split(":")))


def parameter(ours, row):
    """Return our estimates of a variance parameter that R names by group and one or two terms."""
    # A term of one group split by || is called model.1 by lme4.
    group = plain(str(row.group).split(".")[0])
    effects = {plain(str(each)) for each in (row.term1, row.term2) if each} or {"Observation"}
    return [
        each.estimate
        for each in ours.itertuples()
        if plain(each.group) == group
        and each.term.startswith("cor" if row.term2 else "sd")
        and {plain(part) for part in each.term.partition("__")[2].split(".")} == effects
    ]
