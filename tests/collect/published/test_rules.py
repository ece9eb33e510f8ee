"""Patterns decide what a leaf is."""

from collect.published import importer
from collect.published.flatten import leaves, read_document
from collect.published.rules import classify, read_rule_book, rule_book

BOOK = """
no_forward_pass = []
[caveats]
[touches]
[models]
[prompts]
[[group]]
files = ["a_*.json"]
model = "{name}"
rules = [
  { path = "$.models.{name}.gains[{last_layer}]", metric = "last" },
  { path = "$.models.{name}.gains[{layer+1}]", metric = "later" },
  { path = "$.norms[0]", metric = "first" },
  { path = "$.norms[{layer-1}]", metric = "earlier" },
  { path = "$**.*_mean", metric = "anywhere" },
  { path = "$.*", metric = "top" },
]
"""


def classified(document):
    rules = read_rule_book(BOOK).rules_of("a_1.json")
    result = {}
    for leaf in leaves(document):
        rule, captured = classify(leaf, rules)
        result[leaf.path] = (rule.metric, captured)
    return result


def test_patterns_match_wildcards_places_and_captures():
    document = {
        "models": {"m.1": {"gains": [1.0, 2.0, 3.0]}},
        "norms": [1.0, 2.0],
        "deep": [{"x_mean": 1.0, "x": 2.0}],
        "n": 3,
    }
    assert classified(document) == {
        "$.models['m.1'].gains[0]": ("later", {"name": "m.1", "layer": 1}),
        "$.models['m.1'].gains[1]": ("later", {"name": "m.1", "layer": 2}),
        "$.models['m.1'].gains[2]": ("last", {"name": "m.1", "layer": 2}),
        "$.norms[0]": ("first", {}),
        "$.norms[1]": ("earlier", {"layer": 0}),
        "$.deep[0].x_mean": ("anywhere", {}),
        "$.deep[0].x": ("unclassified", {}),
        "$.n": ("top", {}),
    }


def test_every_rule_decides_about_a_leaf_of_the_published_files(results):
    book = rule_book()
    used = set()
    for file in importer.present(results):
        rules = book.rules_of(file)
        for leaf in leaves(read_document(results / file)):
            used.add(id(classify(leaf, rules)[0]))
    idle = [rule for _, rules in book.groups for rule in rules if id(rule) not in used]
    assert idle == []
