"""A finished page read: its tags, and the text below each that has an id."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input", "col", "wbr"}


class Page(HTMLParser):
    """Tags with their attributes, and the text below each tag that has an id."""

    def __init__(self, markup):
        super().__init__()
        self.tags = []
        self.text = {}
        self.styles = ""
        self._open = []
        self.feed(markup)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.tags.append((tag, values))
        if "id" in values:
            assert values["id"] not in self.text
            self.text[values["id"]] = ""
        if tag not in VOID:
            self._open.append((tag, values.get("id", "")))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        self.styles += data if self._open and self._open[-1][0] == "style" else ""
        for _, identifier in self._open:
            if identifier:
                self.text[identifier] += data

    def all(self, tag, **wanted):
        return [
            attributes
            for name, attributes in self.tags
            if name == tag and all(attributes.get(key) == it for key, it in wanted.items())
        ]

    def words(self, identifier):
        return re.sub(r"[ \n]+", " ", self.text[identifier]).strip()
