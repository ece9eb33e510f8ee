"""Outcomes of predictions, judged without our code."""


def are_judged(rows):
    """Return whether each outcome is met as its relation says."""
    less, equal = rows["estimate"] < rows["bound"], rows["estimate"] == rows["bound"]
    met = {"<": less, "<=": less | equal, ">": ~less & ~equal, "=": equal}
    relations = rows.groupby("relation")["is_met"]
    return all((some == met[relation][some.index]).all() for relation, some in relations)
