"""The colours of both themes: every text can be read on what lies beneath it."""

import re

import pytest

from tests.analysis.places import ROOT

QUARTO = ROOT / "quarto"


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in channels]
    return sum(it * share for it, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(one, other):
    """Return the contrast of two colours as WCAG 2 defines it, from 1 to 21."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_of_a_theme_can_be_read_on_what_lies_beneath_it(theme):
    """Bootstrap's own default for a block without a language is black, on a dark page too."""
    style = (QUARTO / f"{theme}.scss").read_text(encoding="utf-8")
    colours = dict(re.findall(r"^\$([\w-]+): (#\w{6});", style, flags=re.MULTILINE))
    page = colours["body-bg"]
    block, code = colours.get("code-block-bg", page), colours.get("code-bg", page)
    pairs = [("body-color", page), ("link-color", page), ("pre-color", block)]
    pairs += [("code-color", code)] if "code-color" in colours else []
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert {
        name: contrast(colours[name], under)
        for name, under in pairs
        if contrast(colours[name], under) < 4.5
    } == {}
    assert "color-scheme: light dark" in (QUARTO / "site" / "site.css").read_text("utf-8")
