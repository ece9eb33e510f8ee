"""Numerals as papers print them: minus signs, spaces that do not break, thousands, signs behind."""

from __future__ import annotations

import re

#: Characters that papers print for a minus sign, and spaces that do not break.
MINUS = re.compile("[\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d]")
SPACE = re.compile("[\u00a0\u2007\u2009\u200a\u202f]")

UNIT = re.compile(r"(?<!\s)\s*+(%|×|x|times)$")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

#: Sign, whole part, decimals and power of ten of a numeral without anything around it.
NUMBER = re.compile(r"([-+]?)(\d*+)\.?(\d*+)(?:[eE]([-+]?\d++))?")


def plain(text: str) -> str:
    """Return text with the hyphen for every printed minus sign and the space for every space.

    >>> plain("r = −0.81")
    'r = -0.81'
    """
    return SPACE.sub(" ", MINUS.sub("-", text))


def bare(text: str) -> str:
    """Return a printed number without thousands' separators and the sign behind it.

    >>> bare("62,696"), bare("−50 %"), bare("26×")
    ('62696', '-50', '26')
    """
    return THOUSANDS.sub("", UNIT.sub("", plain(text).strip()))
