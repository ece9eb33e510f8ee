"""What the filter makes of Markdown; faults of finished pages; the reference of names."""

import base64
import re
from pathlib import Path

import pytest

import thermoscope
from analysis.commands import cli
from analysis.report import reference
from analysis.report.examination import PageFaults, refuse_faults
from analysis.report.making.images import Gallery, Picture
from analysis.report.making.page import ASSETS, pandoc
from analysis.tidy.errors import ReportError
from collect.process.verbs import EXIT_CODES, declared

HERE = Path(__file__).parent
SVG = '<svg class="marks" width="320" height="90" xmlns="http://www.w3.org/2000/svg"></svg>'
ROWS = '<metadata class="rows">eA==</metadata>'


def made(markdown, *flags, to="html5", directory=HERE, numbered=("--metadata=number-sections",)):
    options = ["--from=markdown", f"--to={to}", "--wrap=none", f"--lua-filter={ASSETS}/page.lua"]
    options += [*numbered, *flags]
    return pandoc(markdown, options, directory=directory)


@pytest.fixture
def image(tmp_path):
    (tmp_path / "b.svg").write_text(SVG, encoding="utf-8")
    return str(tmp_path / "b.svg")


def test_sections_are_numbered_by_level_and_headings_carry_an_anchor():
    markdown = (
        "# A {#sec-a}\n\n## B\n\n### C {#sec-c}\n\n## D {#sec-d}\n\n"
        "# Z {.unnumbered}\n\n# E\n\n## F {#sec-f}\n\n@sec-a @sec-c @sec-d @sec-f"
    )
    last = made(markdown).splitlines()[-1]
    for number in ("1", "1.1.1", "1.2", "2.1"):
        assert last.count(f"Section\u00a0{number}<") == 1
    assert "section-number" not in made("# A", numbered=())
    markup = made("# First *one* {#sec-a}")
    assert '<h2 id="sec-a"><span class="section-number">1</span> First <em>one</em>' in markup
    assert 'href="#sec-a" class="anchor" aria-label="Link to section 1 First one">#</a>' in markup


def test_each_kind_of_float_counts_by_itself_with_its_caption_in_place(image):
    table = "| a *b* | c |\n|---|---|\n| 1 | 2 |\n"
    markup = made(
        f"![One]({image}){{#fig-a}}\n\n{table}\n\n: Two {{#tbl-a}}\n\n"
        f"::: {{#fig-b}}\n![text]({image})\n\nThree\n:::\n\n"
        f"::: {{#tbl-b}}\n{table}\nFour\n:::\n\n$$x$$ {{#eq-a}}\n\n{table}\n"
        "@fig-a [-@fig-b] [Chart @fig-a] [@tbl-b; @eq-a]"
    )
    numbers = {"Figure\u00a01": "One", "Table\u00a01": "Two", "Figure\u00a02": "Three"}
    for number, caption in {**numbers, "Table\u00a02": "Four"}.items():
        assert f'<span class="float-number">{number}: </span>{caption}' in markup
    assert markup.count("<figure") == markup.count("</figcaption>") == 4
    places = [markup.index(text) for text in ("<img", "</span>One", "</span>Two", "<table")]
    assert places == sorted(places)
    for label in ("tbl-a", "tbl-b"):
        assert f'tabindex="0" aria-labelledby="{label}-caption">' in markup
    assert 'aria-label="Table of a b, c">' in markup
    assert markup.count('class="img-scroll" role="group" tabindex="0" aria-label="Figure') == 2
    assert "<colgroup>" not in markup
    for link in ("fig-a" + '" class="xref">Figure\u00a01', "fig-b" + '" class="xref">2'):
        assert f'href="#{link}</a>' in markup
    assert 'class="xref">Chart\u00a01</a>' in markup
    assert 'class="xref">Table\u00a02</a>, <a href="#eq-a" class="xref">Equation\u00a01</a>' in (
        markup
    )


@pytest.mark.parametrize(
    ("markdown", "named"),
    [
        ("# A {#sec-a}\n\n@fig-nowhere and @tbl-neither.", "@fig-nowhere, @tbl-neither"),
        ("# A {#sec-a}\n\n# B {#sec-a}", "'sec-a' is used again"),
        ("::: {#fig-b}\nText.\n\n![](b.png)\n:::", "'fig-b' must end with a paragraph"),
        ("No formula {#eq-a}", "'eq-a' must follow a displayed formula"),
        ("![](line.svg)", "'line.svg' has no alternative text"),
        ("![Text](gone.svg)", "'gone.svg' must be an image file"),
        ("![Text](https://a.b/c.png)", "c.png' must be an image file"),
        ("[a]: x\n[a]: y\n", "Pandoc must convert the document without a warning"),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(markdown, named):
    with pytest.raises(ReportError) as caught:
        made(markdown)
    assert named in caught.value.problem


CALLOUTS = {
    '::: {.callout-warning title="Mind"}\nText.\n:::': (
        '<div class="callout callout-warning" role="note"><p class="callout-title">'
        '<span class="callout-kind">Warning</span> <span class="callout-name">Mind</span>'
        '</p><div class="callout-body"><p>Text.</p></div></div>'
    ),
    '::: {.callout-tip collapse="true"}\n## A *b*\n\nText.\n:::': (
        '<details class="callout callout-tip"><summary class="callout-title">'
        '<span class="callout-kind">Tip</span> <span class="callout-name">A <em>b</em></span>'
        '</summary><div class="callout-body"><p>Text.</p></div></details>'
    ),
    '::: {#lim .callout-note collapse="false"}\nText.\n:::': (
        '<details id="lim" class="callout callout-note" open><summary class="callout-title">'
        '<span class="callout-kind">Note</span></summary>'
        '<div class="callout-body"><p>Text.</p></div></details>'
    ),
}


@pytest.mark.parametrize("markdown", CALLOUTS)
def test_a_callout_names_its_kind_and_title(markdown):
    assert made(markdown).replace("\n", "") == CALLOUTS[markdown]


def test_the_contents_are_nested_and_end_with_the_references():
    text = "# A\n\n## B\n\n# C\n\n#### D\n\nSee @here."
    markup = made(text, "--metadata=toc", "--standalone", f"--template={HERE}/contents.template")
    assert markup.count("<ul>") == 2
    assert all(f'"#{name}"' in markup for name in ("a", "b", "c", "references"))
    assert '"#d"' not in markup


def shown(picture, tmp_path):
    return made(f"![]({Gallery(tmp_path).add(picture)})")


def test_charts_become_part_of_the_page(tmp_path):
    chart = SVG.replace("></svg>", f">{ROWS}</svg>")
    markup = shown(Picture(chart, 'A "line".', "fig-a", "charts.draw"), tmp_path)
    assert markup.startswith('<p><svg class="picture marks" role="graphics-document document"')
    assert 'aria-label="A &#34;line&#34;." style="--natural: 320px"' in markup
    assert "metadata" not in markup
    assert '<a download="fig-a.csv" href="data:text/csv;base64,eA==">Data (CSV)</a>' in markup
    assert "<code>charts.draw</code>" in markup


def test_print_has_floats_links_open_folds_and_charts_that_fit_and_no_code(tmp_path):
    chart = SVG.replace('"320"', '"400"').replace('"90"', '"2000"')
    gallery = Gallery(tmp_path, for_print=True)
    name = gallery.add(Picture(chart.replace("></svg>", f">{ROWS}</svg>"), 'It "falls".'))
    text = made(
        "# A part {#sec-a}\n\n"
        "@fig-a, @tbl-a, [there](#sec-a), [elsewhere](claims.html#claim-7).\n\n"
        "::: {.code}\n```{.python}\nsecret = 1\n```\n:::\n\n"
        f"::: {{#fig-a}}\n![]({name})\n\nA caption.\n:::\n\n"
        "| a |\n|--:|\n| 1 |\n\n: Numbers. {#tbl-a}\n\n"
        '::: {.callout-note collapse="true"}\n## Named\nInside.\n:::\n',
        to="typst",
    )
    joined = " ".join(text.split())
    assert '#figure(kind: "fig", supplement: none, numbering: none, placement: auto, [ ' in joined
    assert "], caption: [ Figure~1: A caption. ]) <fig-a>" in joined
    assert 'kind: "tbl", supplement: none, numbering: none, caption: [' in joined
    assert "]) <tbl-a>" in joined
    assert "#link(<fig-a>)[Figure~1]" in text
    assert "#link(<sec-a>)[there]" in text
    assert "elsewhere" in text
    assert "claims.html" not in text
    assert "secret" not in text
    assert "#callout([ Note: Named" in joined
    assert '#image("chunk-image-1.svg", width: 118pt, alt: "It \\"falls\\".")' in text
    assert (tmp_path / "chunk-image-1.svg").read_text(encoding="utf-8") == chart


CSS = base64.b64encode(b"@import url(https://fonts.test/css2); a { color: red }").decode()


@pytest.mark.parametrize(
    ("markup", "fault"),
    [
        ('<img src="data:x" alt="">', "an image without alternative text"),
        ('<link rel="stylesheet" href="a.css">', "<link> loads 'a.css'"),
        ("<style>a { background: url(x.png) }</style>", "a style loads 'url(x.png)'"),
        ("<p style=\"background: url('x.png')\">", "a style loads 'url('x.png')'"),
        ("<strong>?@fig-shares</strong>", "a reference without a target: '?@fig-shares'"),
        ("<p>80\\xa0% of</p>", "a character as Python writes it: '\\xa0'"),
        ("<p><code>{python} n</code></p>", "inline code that was not run: '{python} n'"),
        ("<p>np.float64(0.5)</p>", "a number as Python writes it: 'np.float64(0.5)'"),
        ('<span class="math inline">\\(x^2\\)</span>', "formula that is left as TeX: '\\(x^2\\)'"),
        (
            '<b class="citation" data-cites="a">(<strong>a?</strong>)</b>',
            "citation without an entry: 'a?'",
        ),
        (f'<link href="data:text/css;base64,{CSS}">', "a style loads '@import'"),
        (
            '<script>s.src = "https://a.test/b@3/c.js?x=1"</script>',
            "script loads 'https://a.test/b@3/c.js?x=1'",
        ),
        (
            "<script src=\"data:text/javascript,f('https://a.test/b.woff2')\"></script>",
            "'https://a.test/b.woff2'",
        ),
        ('<svg viewBox="0 0 1 1"><g><title>a mark</title></g></svg>', "a drawing without"),
        ('<a href="#gone">x</a>', "a link to '#gone', which does not exist"),
        ('<a href=" java&#10;script:alert(1)">x</a>', "a link that runs code: ' java\nscript"),
        ('<image href="https://a.test/x.png"/>', "<image> loads 'https://a.test/x.png'"),
    ],
)
def test_a_fault_of_a_page_is_named(markup, fault):
    result = PageFaults.of(markup)
    assert [it for it in result if fault in it]


def test_what_a_whole_page_may_hold_is_no_fault():
    """Links out, data, buttons of Quarto's page, examples in code, names in comments."""
    markup = (
        '<a href="https://a.test">x</a><img src="data:x" alt="A line."><p id="a b"></p>'
        '<a href="#a%20b">y</a><a href="#">up</a><a href="" onclick="toggle()">dark</a>'
        '<a href="javascript:void(0)">code</a><svg aria-hidden="true"></svg>'
        '<svg role="img"><title>Gain falls.</title><g><title>a mark</title></g></svg>'
        "<pre><code>`{python} n` and '\\xa0' and np.float64(0.5)</code></pre>"
        "<p>Python writes <code>\\xa0</code> and asks <strong>why?</strong></p>"
        "<script>/* see https://a.test/LICENSE and https://popper.test/docs */</script>"
        '<style>a { background: url("data:image/png;base64,AA") }</style>'
        '<span class="math inline"><math><mi>x</mi></math></span>'
    )
    assert PageFaults.of(markup) == []


def page(directory, name, body):
    path = directory / name
    path.write_text(f"<!DOCTYPE html><html><body>{body}</body></html>", encoding="utf-8")
    return path


def test_links_between_pages_must_lead_to_places_and_many_faults_are_counted(tmp_path):
    claims = page(tmp_path, "claims.html", '<h2 id="claim-7">7</h2>')
    front = page(tmp_path, "index.html", '<a href="claims.html#claim-7">7</a>')
    refuse_faults([front, claims])
    refuse_faults([front])
    dead = page(tmp_path, "dead.html", '<a href="claims.html#claim-99">a</a><a href="no.csv">b</a>')
    with pytest.raises(ReportError) as caught:
        refuse_faults([front, dead])
    assert re.findall("link to '([^']*)'", caught.value.problem) == [
        "claims.html#claim-99",
        "no.csv",
    ]
    body = "".join(f'<a href="#n{i}">x</a>' for i in range(20))
    with pytest.raises(ReportError, match=r"'#n11', which does not exist; and 8 more\."):
        refuse_faults([page(tmp_path, "a.html", body)])


def test_the_command_examines_a_page_that_was_rendered_elsewhere(tmp_path, capsys):
    whole = page(tmp_path, "whole.html", "<p>Text.</p>")
    assert cli.main(["report", "--examine", str(whole)]) == 0
    assert capsys.readouterr().out == "1 page examined, no fault found.\n"
    faulty = page(tmp_path, "faulty.html", "<p>?@tbl-a</p>")
    assert cli.main(["report", "--examine", str(whole), str(faulty)]) == 5
    error = capsys.readouterr().err
    assert "found in faulty.html: a reference without a target: '?@tbl-a'." in error
    assert cli.main(["report", "--examine", str(tmp_path / "absent.html")]) == 5
    assert "must be a readable file; found: No such file" in capsys.readouterr().err


def test_every_public_name_is_in_the_reference_with_its_example():
    told = reference.api("thermoscope")
    assert re.findall(r"^### (\S+) ", told, flags=re.MULTILINE) == thermoscope.__all__
    assert told.count("&gt;&gt;&gt; ") >= len(thermoscope.__all__) - 1  # an error has none


def test_every_verb_and_exit_code_is_described():
    shown = reference.commands()
    assert [name for name in declared() if f"### {name} " not in shown] == []
    shown = reference.exit_codes().replace("<code>", "\n")
    assert all(f"\n{code:>3}  {meaning[:20]}" in shown for code, meaning in EXIT_CODES.items())
    assert "recomputed: forensics" in shown
