"""HTML on a page: text is escaped, and nothing in it ends the block."""

import pytest
from markupsafe import Markup

from analysis.tidy import html


def test_text_is_escaped_and_plain_text_is_no_html():
    part = Markup('<b title="{}">{}</b>').format('"><i>', "<script>")
    assert "<i>" not in part
    assert "<script>" not in part
    assert html.joined([part, part]) == part + part
    with pytest.raises(TypeError, match="found str"):
        html.block("<b>" + str(part))


def test_a_line_of_backticks_does_not_end_the_block():
    block = html.block(Markup("<p>{}</p>").format("a\n`````\nb"))
    assert block.splitlines()[0] == "``````{=html}"
    assert block.splitlines()[-1] == "``````"
