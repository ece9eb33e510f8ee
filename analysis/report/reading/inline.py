r"""Values in prose as Quarto prints them: a string must say by itself that it is text.

Quarto puts the Markdown form of a value into the sentence, or else what ``repr`` makes of it:
a space that does not break becomes ``\xa0``, and a star opens emphasis. Where that form is empty it
leaves the code in the sentence. The set-up chunk of each document therefore registers the Markdown
form of strings, once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from analysis.tidy import markdown
from analysis.tidy.errors import ReportError
from analysis.tidy.extra import extra

#: What the representation of a value shows that is no text for a reader.
RAW = re.compile(r"\\|^np\.\w+\(|^<.*>$", re.DOTALL)
REGISTER = "Call register_strings() of analysis.report.reading.inline in the set-up chunk, and "


class Inline(NamedTuple):
    """An expression inside a sentence, and where it stands."""

    expression: str
    place: str

    @property
    def name(self) -> str:
        """The inline code in messages."""
        return f"The inline code '{self.expression}' at {self.place}"


def register_strings() -> None:
    """Give strings of the running kernel a Markdown form: the text, nothing in it markup.

    An empty string is a space, which nobody sees.

    Raises
    ------
    ReportError
        If no kernel runs this code.
    """
    shell = extra("IPython").get_ipython()
    if shell is None:
        raise ReportError(
            "The Markdown form of strings must be registered in a kernel; none runs this code.",
            "Call register_strings() in the set-up chunk of a document.",
        )
    shell.display_formatter.formatters["text/markdown"].for_type(str, _display)


def _display(text: str) -> str:
    return markdown.literal(text) or " "


def inline_markdown(representations: Mapping[str, Any], *, mime: str, name: str) -> str:
    r"""Return the Markdown that stands for a value in prose, one of its MIME types, as Quarto does.

    Examples
    --------
    >>> inline_markdown({"text/plain": "'3 * 4'"}, mime="text/plain", name="x")
    '3 \\* 4'
    >>> inline_markdown({"text/markdown": "*p* = 1"}, mime="text/markdown", name="x")
    '*p* = 1'
    """
    text = str(representations[mime])
    if text in ("", "''"):
        raise ReportError(
            f"{name} must show something; it is empty, and Quarto would leave its code there.",
            f"{REGISTER}return a string: an empty one is shown as a space.",
        )
    if mime == "text/html":
        return f"`{text}`{{=html}}"
    if mime != "text/plain":
        return text
    if RAW.search(text):
        raise ReportError(
            f"{name} must have a form that readers can read; Quarto would print {text[:60]}.",
            f"{REGISTER}return a string of 'prose' or IPython.display.Markdown.",
        )
    is_string = text[:1] in ("'", '"')
    return markdown.literal(str(ast.literal_eval(text))) if is_string else text
