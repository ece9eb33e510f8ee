"""Faults of finished pages are named; the reference names every public name and verb."""

import base64
import re
from importlib import import_module

import pytest

from analysis.commands import cli
from analysis.report import reference
from analysis.report.examination import PageFaults, refuse_faults
from analysis.tidy.errors import ReportError
from collect.process.verbs import EXIT_CODES, declared

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


#: Names whose example needs a whole training, which examples/api runs.
IN_A_TRAINING = {"MeasurementCallback", "measure_step", "CollectError"}


def described(package):
    """Return what the reference says of each public name, by name."""
    parts = ("\n\n" + reference.api(package)).split("\n\n### ")[1:]
    return {part.partition(" ")[0]: part for part in parts}


@pytest.mark.parametrize("package", ["analysis.mixed", "analysis.inference", "collect"])
def test_every_public_name_is_described_with_an_example(package):
    entries = described(package)
    assert [*entries] == [*import_module(package).__all__]
    assert len(entries) > 10
    without = {name for name, part in entries.items() if "&gt;&gt;&gt; " not in part}
    assert without <= IN_A_TRAINING


def test_every_verb_and_exit_code_is_described():
    shown = reference.commands()
    assert [name for name in declared() if f"### {name} " not in shown] == []
    codes = [line.split()[0] for line in EXIT_CODES.splitlines()[1:] if line[2:3].isdigit()]
    shown = reference.exit_codes()
    assert codes
    assert all(f"\n{code:>3}  " in shown.replace("<code>", "\n") for code in codes)
