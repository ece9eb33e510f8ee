"""What Quarto itself would do with our sources, held without Quarto."""

import html
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.report.making.markup import INLINE_CODE
from analysis.report.making.page import pandoc, program
from analysis.report.reading import places
from analysis.report.reading.inline import inline_markdown, register_strings
from analysis.report.reading.settings import project_options
from analysis.report.reading.source import Prose, read_source
from analysis.tidy import markdown
from analysis.tidy.errors import ReportError
from tests.analysis.places import ROOT

QUARTO = ROOT / "quarto"
DOCUMENTS = sorted(path for path in QUARTO.glob("*.qmd") if not path.name.startswith("_"))
SIGNS = "ab1 \u00a0*_`~^$\\[](){}<>#+-.!|@&\n;:/%="


def options():
    return yaml.safe_load((QUARTO / "_quarto.yml").read_text())


def asked(value):
    mime = next(it for it in ("text/markdown", "text/plain") if it in value)
    return inline_markdown(value, mime=mime, name="The inline code 'f()' at a.qmd:3")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_strings_have_a_markdown_form_before_the_first_value_in_prose(document):
    blocks = read_source(document).blocks

    def has_value(block):
        lines = block.lines if isinstance(block, Prose) else ()
        return any(INLINE_CODE.search(line.text) for line in lines if not line.fence)

    registering = ["register_strings()" in getattr(block, "code", "") for block in blocks].index(
        True
    )
    assert not any(has_value(block) for block in blocks[:registering])


PYTHON = ["'80\\xa0%'", "'a\\nb'", '"C:\\\\x"', "np.float64(0.5)", "<object at 0x7f>"]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        *(
            ({"text/plain": text}, "must have a form that readers can read; Quar")
            for text in PYTHON
        ),
        *((value, "empty, and Quarto") for value in ({"text/markdown": ""}, {"text/plain": "''"})),
    ],
)
def test_a_value_that_quarto_would_print_as_python_or_leave_as_code_is_refused(value, named):
    with pytest.raises(ReportError, match=named):
        asked(value)


def test_a_markdown_form_outranks_the_repr():
    value = {"text/plain": "'80\\xa0%'", "text/markdown": markdown.literal("80\u00a0%")}
    assert asked(value) == "80\u00a0%"
    assert asked({"text/plain": "7"}) == "7"
    with pytest.raises(ReportError, match="must be registered in a kernel; none runs this code"):
        register_strings()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(st.sampled_from(SIGNS), min_size=1), min_size=1, max_size=40))
def test_a_string_is_shown_as_it_stands(texts):
    """Pandoc reads Markdown as Quarto does; nothing in a literal string is markup to it."""
    lines = [f"x{markdown.literal(text)}x" for text in texts]
    document = json.loads(
        pandoc("\n\n".join(lines), ["--from=markdown-smart", "--to=json"], directory=ROOT)
    )
    shown = [_plain(block) for block in document["blocks"]]
    wanted = [re.sub(r"\s*\n\s*", " ", f"x{text}x") for text in texts]
    assert shown == [re.sub(r" +", " ", text) for text in wanted]


def _plain(block):
    assert block["t"] == "Para"
    said = {"Space": " ", "SoftBreak": " "}
    assert {inline["t"] for inline in block["c"]} <= {"Str", *said}
    return "".join(said.get(inline["t"]) or inline["c"] for inline in block["c"])


def test_styles_fetch_nothing():
    themes = options()["format"]["html"]["theme"]
    own = {path.name for path in QUARTO.glob("*.scss")}
    # Not the themes themselves: which of Quarto's have no web font; the others import one.
    assert {name for side in themes.values() for name in side} <= own | {"default"}
    for path in [*QUARTO.glob("*.scss"), QUARTO / "style.css"]:
        assert not re.search(r"@import|url\(|https?:", path.read_text(encoding="utf-8")), path


def test_formulas_have_in_quarto_s_page_the_font_and_the_rule_of_the_embedded_one():
    sheet = QUARTO / "site" / "formula.css"
    style = sheet.read_text(encoding="utf-8")
    (font,) = re.findall(r'url\("([^"]+)"\)', style)
    assert (sheet.parent / font).is_file()
    (rule,) = re.findall(r"^math \{.*\}$", style, flags=re.MULTILINE)
    assert (
        rule in (ROOT / "analysis/report/making/page.css").read_text(encoding="utf-8").splitlines()
    )
    # The filter as Quarto would run it: a stand-in takes what goes into the head.
    filter_ = QUARTO / "filters" / "site.lua"
    stand_in = (
        "quarto = { doc = { include_text = function(place, text)"
        " io.stderr:write(place, ' ', text) end } }"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f"{stand_in}\n{filter_.read_text(encoding='utf-8')}")
        script.flush()
        ended = subprocess.run(
            [str(program()), "-t", "html", "-L", script.name],
            input="---\ntitle: x\n---\n$x$\n",
            cwd=QUARTO,
            capture_output=True,
            text=True,
            check=True,
        )
    assert ended.stderr == 'in-header <link rel="stylesheet" href="site/formula.css">'


@pytest.mark.parametrize("project", ["quarto", "quarto/audit"])
@pytest.mark.parametrize(
    "left",
    [".gitignore", ".quarto/x", "_freeze/x", "data.quarto_ipynb", "data_files/x", "data.html"],
)
def test_what_a_render_leaves_behind_is_not_offered_to_git(project, left):
    name = f"{project}/{left}"
    process = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False)
    if process.returncode == 128:
        pytest.skip("the tests do not run in a git checkout")
    assert process.returncode == 0


def run_script(name, **variables):
    """Run a script of the project as Quarto does, with the project as working directory."""
    inherited = {key: it for key, it in os.environ.items() if not key.startswith("QUARTO_")}
    return subprocess.run(
        [sys.executable, str(QUARTO / options()["project"][name])],
        cwd=QUARTO,
        env={**inherited, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_is_examined_before_quarto_starts(tmp_path):
    assert run_script("pre-render").returncode == 0
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    refused = run_script("pre-render", QUARTO_PYTHON=str(bare))
    problem, hint = refused.stderr.splitlines()
    assert refused.returncode == 1
    assert problem.startswith("error: The report needs the Python of the project's environment; ")
    assert f"{bare} lacks nbformat, nbclient" in problem
    assert re.match(r'hint: Run: QUARTO_PYTHON=".*/\.venv/bin/python" quarto render quarto', hint)
    absent = run_script("pre-render", QUARTO_PYTHON=str(tmp_path / "absent"))
    assert "absent cannot be run: No such file" in absent.stderr


def test_the_pages_that_quarto_names_are_examined_after_it(tmp_path):
    page = tmp_path / "paper.html"
    page.write_text("<p>?@fig-a</p>", encoding="utf-8")
    listing = tmp_path / "list"
    listing.write_text(f"other.pdf\n{os.path.relpath(page, QUARTO)}\n", encoding="utf-8")
    refused = run_script("post-render", QUARTO_USE_FILE_FOR_PROJECT_OUTPUT_FILES=str(listing))
    assert refused.returncode == 5
    assert "a reference without a target: '?@fig-a'" in refused.stderr
    assert run_script("post-render", QUARTO_PROJECT_OUTPUT_FILES="other.pdf").returncode == 0


@pytest.mark.parametrize(
    ("target", "is_whole", "code"),
    [("claims.html#claim-7", "", 0), ("claims.html", "1", 5), ("absent.html", "", 5)],
)
def test_a_page_that_quarto_makes_alone_may_link_to_pages_yet_to_be_made(
    tmp_path, target, is_whole, code
):
    page = tmp_path / "paper.html"
    page.write_text(f'<a href="{target}">it</a>', encoding="utf-8")
    named = {"QUARTO_PROJECT_OUTPUT_FILES": str(page), "QUARTO_PROJECT_RENDER_ALL": is_whole}
    assert run_script("post-render", **named).returncode == code


#: Every page of ours and of another paper's audit, with the project that it belongs to.
PAGES = [
    (project, path)
    for project in (QUARTO, QUARTO / "audit")
    for path in sorted(project.glob("[!_]*.qmd"))
]
REFERENCE = re.compile(r"(?<![\w`])@((?:fig|tbl|sec|eq)-[\w-]+)")
DIVISION = re.compile(r"^:{3,}\s*\{[^}]*\.callout-(\w+)[^}]*\}")


@pytest.mark.parametrize(("project", "path"), PAGES, ids=lambda it: it.name)
def test_every_page_keeps_to_what_both_renderers_read_alike(project, path):
    source = read_source(path)
    lines = [line for block in source.blocks if isinstance(block, Prose) for line in block.lines]
    prose_lines = [line for line in lines if not line.fence]
    known = {place.identifier for place in places.places(project)}
    asked_for = {(it, line.place) for line in prose_lines for it in REFERENCE.findall(line.text)}
    assert [it for it in asked_for if it[0] not in known] == []
    kinds = {it[1] for line in prose_lines if (it := DIVISION.match(line.text))}
    assert kinds <= {"note", "tip", "warning", "caution", "important"}
    for line, after in itertools.pairwise(prose_lines):
        if DIVISION.match(line.text) and "title=" not in line.text:
            assert after.text.startswith("## "), line.place
    for chunk in source.chunks:
        written = [str(chunk.options.get(key, "")) for key in ("fig-cap", "fig-alt", "tbl-cap")]
        assert not any("{python}" in text for text in written), chunk.name
        if str(chunk.options.get("label", "")).startswith("fig-"):
            assert len(written[1]) > 40, chunk.name
        # What is computed says so, and would stand in the page.
        assert ".cached(" not in chunk.code or not chunk.settled({})["include"], chunk.name
    assert not any("{{<" in line.text for line in prose_lines)
    assert {"title", "short-title"} <= set(source.front_matter)


def test_every_page_is_listed_and_a_licence_is_said_in_words():
    listed = options()["project"]["render"]
    assert sorted(listed) == [path.name for path in DOCUMENTS]
    opening = (QUARTO / "site" / "opening.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'href="([\w-]+)\.html', opening))
    assert {Path(name).stem for name in listed} == linked
    licences = [read_source(path).front_matter.get("license") for path in DOCUMENTS]
    assert [list(it) for it in licences if it] == [["text"]]
    for project in (QUARTO, QUARTO / "audit"):
        settled = project_options(project)["execute"]
        assert (settled["freeze"], settled["cache"], settled["daemon"]) == (False, False, False)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_page_names_the_one_format_that_a_plain_render_makes(document):
    """Quarto makes a page that names no format in each one of the project, here PDF as well."""
    assert set(options()["format"]) == {"html", "typst"}
    named = read_source(document).front_matter.get("format")
    assert isinstance(named, dict)
    assert list(named) == ["html"]


def test_images_are_embedded_as_drawings_and_the_paper_is_printed_as_it_is_read():
    tree = json.loads(
        pandoc(
            "![Caption](a_files/b.svg)\n\n![Caption](c.png)",
            ["--from=markdown", "--to=json", f"--lua-filter={QUARTO / 'filters/site.lua'}"],
            directory=ROOT,
        )
    )
    result = re.findall(r'\["", \[([^\]]*)\], \[\]\]', json.dumps(tree["blocks"]))
    assert [it for it in result if it] == ['"inline-svg"']
    printed, shown = options()["format"]["typst"], options()["format"]["html"]
    assert printed["number-sections"] == shown["number-sections"] is True
    assert (printed["echo"], printed["fig-format"]) == (False, "svg")
    assert (QUARTO / printed["font-paths"] / "FigureSans-Regular.ttf").is_file()


@pytest.mark.parametrize(
    ("to", "shown"),
    [
        ("html", '<span class="finding">a &lt; "b" &amp; c\'s</span><img'),
        ("html", '<a download="fig-a.csv" href="data:text/csv;base64,YSxiCg==">Data (CSV)</a>'),
        ("typst", r"#strong[a \< \"b\" & c\'s] \ #box(image("),
    ],
)
def test_a_drawing_of_quarto_says_what_it_shows_without_a_script(tmp_path, to, shown):
    finding = html.escape('a < "b" & c' + "'s")
    said = f'<metadata class="finding">{finding}</metadata>'
    rows = '<metadata class="rows">YSxiCg==</metadata>'
    drawing = tmp_path / "paper_files" / "fig-a-output-1.svg"
    drawing.parent.mkdir()
    drawing.write_text(f'<svg class="marks">{said}{rows}</svg>', encoding="utf-8")
    source = f"![Caption]({drawing.relative_to(tmp_path)}){{#fig-a}}"
    filters = [f"--lua-filter={QUARTO / 'filters/site.lua'}", "--wrap=none"]
    made = pandoc(source, ["--from=markdown", f"--to={to}", *filters], directory=tmp_path)
    assert shown in " ".join(made.split())
    assert ("Data (CSV)" in made) == (to == "html")


@pytest.mark.parametrize("opening", ["site/opening.html", "audit/opening.html"])
def test_the_closing_asks_nothing_of_what_an_opening_lacks(opening):
    """Without a browser: what may be null is used only behind a question whether it is there."""
    classes = set(re.findall(r'class="([\w-]+)"', (QUARTO / opening).read_text("utf-8")))
    lines = (QUARTO / "site" / "closing.html").read_text("utf-8").splitlines()
    found = re.compile(r'const (\w+) = document\.querySelector\("[\w.]*\.([\w-]+)"\)')
    names = {it[1] for line in lines if (it := found.search(line)) and it[2] not in classes}
    assert "origin" in names
    for name in names:
        for number, line in enumerate(lines):
            if re.search(rf"\b{name}\.", line):
                assert _asked(name, lines, number), (opening, line)


def _asked(name, lines, number):
    """Tell whether a line, or one that holds it, asks for a name."""
    indent = len(lines[number])
    for line in reversed(lines[: number + 1]):
        here = len(line) - len(line.lstrip())
        if line.strip() and here < indent:
            if re.search(rf"\bif \([^)]*\b{name}\b", line):
                return True
            indent = here
    return False


def test_a_render_in_the_root_renders_the_report_and_ends_as_it_does(tmp_path):
    """As Quarto does it: the script of the root's project runs, with a stand-in for the command."""
    of_root = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))["project"]
    assert of_root["render"] == []
    command = tmp_path / "quarto"
    command.write_text(
        '#!/bin/sh\necho "$@" "${QUARTO_PROJECT_DIR:-none}"\nexit 7\n', encoding="utf-8"
    )
    command.chmod(0o755)
    inherited = {key: it for key, it in os.environ.items() if not key.startswith("QUARTO_")}

    def ended(**variables):
        return subprocess.run(
            [sys.executable, str(ROOT / of_root["pre-render"])],
            cwd=ROOT,
            env={**inherited, "QUARTO_PROJECT_DIR": str(ROOT), **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    whole = ended(QUARTO_PROJECT_RENDER_ALL="1", QUARTO_BIN_PATH=str(tmp_path))
    assert (whole.returncode, whole.stdout.split()) == (7, ["render", str(QUARTO), "none"])
    assert ended(QUARTO_BIN_PATH=str(tmp_path)).returncode == 0
    absent = ended(QUARTO_PROJECT_RENDER_ALL="1", PATH=str(tmp_path / "absent"))
    assert (absent.returncode, "quarto command" in absent.stderr) == (1, True)
    # What Quarto would add to .gitignore is there: nothing gets dirty.
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/.quarto/", "**/*.quarto_ipynb"} <= set(ignored)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ('`thermoscope --paper FOLDER sql "FROM raw"`', '<span class="unbroken">--paper</span>'),
        ("-2e-13", "-2e\u221213"),
    ],
)
def test_no_line_ends_within_an_option_or_behind_the_minus_of_an_exponent(source, shown):
    filters = [f"--lua-filter={QUARTO / 'filters/site.lua'}", "--wrap=none"]
    assert shown in pandoc(source, ["--from=markdown", "--to=html", *filters], directory=ROOT)
