"""What a chart draws: its encodings, however it is layered."""

from analysis.drawing.labs import INK, LOOKS


def encodings(node):
    """Yield every encoding of a chart's specification, however it is layered or nested."""
    if isinstance(node, dict):
        if "encoding" in node:
            yield node["encoding"]
        for value in node.values():
            yield from encodings(value)
    elif isinstance(node, list):
        for value in node:
            yield from encodings(value)


def is_borrowed(look, lab):
    """Return whether a colour or shape of a lab stands for something else; a disc is anyone's."""
    looked = look.lower()
    whose = {name for name, looks in LOOKS.items() if looked in (it.lower() for it in looks)}
    return looked not in (INK, "circle") and bool(whose) and lab not in whose


def borrowed(node):
    """Return colours and shapes of labs that stand for something else in a specification."""
    if isinstance(node, list):
        return [colour for item in node for colour in borrowed(item)]
    if not isinstance(node, dict):
        return [node] if isinstance(node, str) and is_borrowed(node, "") else []
    if {"domain", "range"} <= set(node) and isinstance(node["range"], list):
        pairs = zip(node["domain"], node["range"], strict=False)
        return [it for name, it in pairs if isinstance(it, str) and is_borrowed(it, name)]
    # Neither data nor the cells of a legend's scale of grey are marks of a lab.
    drawn = [it for name, it in node.items() if name not in ("datasets", "field", "symbolType")]
    return [look for it in drawn for look in borrowed(it)]


def lines_with_points(node):
    """Return the marks of lines that Vega-Lite gives points of its own, as it does given a shape.

    Points that are drawn beside them would cover these, so that hollow ones look filled.
    """
    if isinstance(node, list):
        return [mark for item in node for mark in lines_with_points(item)]
    if not isinstance(node, dict):
        return []
    mark = node.get("mark")
    is_line = isinstance(mark, dict) and mark.get("type") == "line"
    own = [mark] if is_line and "shape" in node.get("encoding", {}) and "point" not in mark else []
    return own + [it for name, of in node.items() if name != "mark" for it in lines_with_points(of)]
