"""The typeface of the figures: charts are laid out with it and carry the letters they use.

An SVG image cannot use the fonts of the page around it. Without its own font it falls back to
whatever the reader has, and text that is wider than measured runs over its neighbours.
"""

from __future__ import annotations

import base64
import io
import re
import zlib
from functools import cache
from html import unescape
from pathlib import Path

from analysis.tidy.extra import extra

FAMILY = "Figure Sans"
DIRECTORY = Path(__file__).parents[1] / "fonts"
FILE = DIRECTORY / "FigureSans-Regular.ttf"
TEXT = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
OPENING = re.compile(r"<svg\b[^>]*>")


def embed_typeface(picture: str) -> str:
    """Return an SVG image with the letters of its texts inside it.

    The same image always gets the same bytes. An image without text stays as it is.

    Raises
    ------
    MissingExtraError
        If fontTools is not installed.
    """
    letters = "".join(sorted({*unescape(TAG.sub("", "".join(TEXT.findall(picture))))}))
    if not letters.strip():
        return picture
    source = base64.b64encode(letters_as_woff(letters)).decode("ascii")
    # Where pictures are put into the page itself, fonts of one name would mix. A family without
    # quotation marks is made of identifiers, which begin with a letter.
    name = f"{FAMILY} no-{zlib.crc32(letters.encode()):08x}"
    face = f'font-family:"{name}";src:url(data:font/woff;base64,{source}) format("woff")'
    return OPENING.sub(
        lambda opening: f"{opening[0]}<style>@font-face{{{face}}}</style>",
        picture.replace(f'font-family="{FAMILY},', f'font-family="{name}, {FAMILY},'),
        count=1,
    )


@cache
def letters_as_woff(letters: str) -> bytes:
    """Return the typeface reduced to some letters, as a WOFF file; any it lacks are left out.

    Raises
    ------
    MissingExtraError
        If fontTools is not installed.
    """
    subset = extra("fontTools.subset")
    options = subset.Options(
        layout_features=["kern"], name_IDs=[], recalc_timestamp=False, bidi_closure=False
    )
    font = subset.load_font(io.BytesIO(FILE.read_bytes()), options)
    reduction = subset.Subsetter(options)
    reduction.populate(text=letters)
    reduction.subset(font)
    font.flavor = "woff"
    file = io.BytesIO()
    font.save(file)
    return file.getvalue()


@cache
def register() -> None:
    """Make the typeface known to what lays charts out.

    Raises
    ------
    MissingExtraError
        If vl_convert is not installed.
    """
    extra("vl_convert").register_font_directory(str(DIRECTORY))
