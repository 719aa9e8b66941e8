"""The documentation holds what it shows: blocks run, outputs are real, nothing is missing."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import rumor
from docs import make_pages, make_pictures
from rumor.kinds import KINDS
from rumor.kinds.choice.estimate import OPTIONS
from rumor.mechanisms import BY_NAME

PAGES = make_pages.pages()
ROOT = make_pages.ROOT
_MAY_BE_LONG = re.compile(r"[|!<]|    ")
REFRESH = "run `make pages`, and look at what changed"


def text_of(name: str) -> str:
    return (make_pages.DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The lines under a heading, up to the next of the same level."""
    level = heading.split()[0]
    assert heading in text.split("\n"), f"there is no section {heading!r}"
    _, _, rest = text.partition(heading + "\n")
    return re.split(rf"^{level} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


# --- What runs ------------------------------------------------------------------------------


# Its simulation has as many trials as a default that is not worse by bad luck needs.
_SLOW_PAGE = ROOT / "docs" / "how-to" / "choose-epsilon.md"


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] if p == _SLOW_PAGE else []) for p in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_blocks_run_and_show_what_comes_out(page: Path, tmp_path: Path) -> None:
    runner = make_pages.Runner(page, tmp_path)
    runner.run()
    assert not runner.differences, f"{REFRESH}:\n" + "\n".join(map(str, runner.differences))


def test_a_wrong_output_would_be_noticed(tmp_path: Path) -> None:
    """The check bites: a page that shows something else differs, in its digits at least."""
    page = ROOT / "docs" / "wrong.md"  # never written: read from the text below
    text = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
    runner = make_pages.Runner(page, tmp_path)
    for block, following in zip(*[iter(make_pages.blocks(text))] * 2, strict=True):
        runner._outputs(block, following, text.split("\n"))
    assert [d.found for d in runner.differences] == ["1"]


def test_blocks_that_do_not_run_say_why() -> None:
    for page in PAGES:
        for block in make_pages.blocks(page.read_text(encoding="utf-8")):
            if "not run" in block.remarks:
                assert len(block.remarks["not run"].split()) >= 4, page


# --- What is generated ----------------------------------------------------------------------


@pytest.mark.parametrize("name", make_pictures.PICTURES)
def test_pictures_are_those_of_the_code(name: str) -> None:
    committed = (make_pictures.FOLDER / name).read_text(encoding="utf-8")
    assert make_pictures.same(make_pictures.PICTURES[name](), committed), REFRESH


def test_pictures_differ_where_an_eye_could_see_it() -> None:
    line = '<path d="M1.5,20 2,-3.25"/><text x="3">12.5%</text>'
    assert make_pictures.same(line, line.replace("1.5,20", "1.58,20.01"))
    assert not make_pictures.same(line, line.replace("1.5,20", "1.7,20"))
    assert not make_pictures.same(line, line.replace("12.5%", "12.9%"))
    assert not make_pictures.same(line, line.replace("path", "line"))
    assert not make_pictures.same(line, line.replace("20 2", "20 2 5"))


def test_every_picture_is_made_and_used() -> None:
    files = {path.name for path in make_pictures.FOLDER.iterdir()}
    assert files == set(make_pictures.PICTURES)
    everything = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in files if f"pictures/{name}" not in everything] == []


def test_the_worked_example_is_the_papers() -> None:
    """Two of four bits survive and 145 are set, as in Figure 1 of the RAPPOR paper."""
    example = make_pictures.worked_example()
    assert len(example.own) == 4
    assert (example.filter & example.permanent).bit_count() == 2
    assert example.report.bit_count() == 145


def test_the_command_line_page_is_what_help_says() -> None:
    assert text_of("reference/cli.md") == make_pages.cli_page(), REFRESH


def test_the_python_page_can_be_made() -> None:
    made = make_pages.python_page()
    assert made.startswith("# Python")
    assert "### rumor.Collection" in made


# --- What must be documented ----------------------------------------------------------------


def test_every_command_and_option_is_documented() -> None:
    page = text_of("reference/cli.md")
    for name, command in make_pages.commands().items():
        described = section(page, f"## rumor {name}")
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert re.search(rf"(^|[ ,]){re.escape(option)}\b", described, re.MULTILINE), (
                    f"rumor {name} {option} is not in docs/reference/cli.md: {REFRESH}"
                )


def test_every_public_name_and_member_is_documented() -> None:
    page = text_of("reference/python.md")
    for name in rumor.__all__:
        if name.startswith("__"):
            continue
        assert f"### rumor.{name}\n" in page, f"rumor.{name} is not documented: {REFRESH}"
        value = getattr(rumor, name)
        for member in make_pages.public_members(value) if inspect.isclass(value) else []:
            assert re.search(rf"`{member}\b", page), f"rumor.{name}.{member}: {REFRESH}"


def test_every_question_key_is_documented() -> None:
    page = text_of("how-to/write-a-collection.md")
    for kind in KINDS.values():
        described = section(page, f"## Kind `{kind.name}`")
        for key in kind.keys:
            assert f"| `{key}` |" in described, f"key {key!r} of kind {kind.name!r}"


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("shares", "choice"),
        ("words", "text"),
        ("means", "number"),
        ("keys with numbers", "keyvalue"),
    ],
)
def test_every_method_is_documented(title: str, kind: str) -> None:
    described = section(text_of("reference/estimators.md"), f"## Methods for {title}")
    for method in KINDS[kind].methods():
        assert re.search(rf"^\| .*`{method}`.* \|", described, re.MULTILINE), method


def test_the_methods_of_every_kind_are_documented() -> None:
    """Whatever its heading is: a new kind's methods are missed here."""
    page = text_of("reference/estimators.md")
    for kind in KINDS.values():
        for method in kind.methods():
            row = rf"^\| .*`{method}`.* \|"
            assert re.search(row, page, re.MULTILINE), f"method {method!r} of kind {kind.name!r}"


def test_every_option_of_a_method_is_documented() -> None:
    described = section(text_of("reference/estimators.md"), "## Methods for shares")
    for method, options in OPTIONS.items():
        for option in options:
            row = rf"^\| `{method}` \| .*`{option}`.* \|"
            assert re.search(row, described, re.MULTILINE), (method, option)


def test_every_mechanism_is_documented() -> None:
    """A section that says what it is, and a row in each table of bytes."""
    mechanisms, layouts = text_of("reference/mechanisms.md"), text_of("reference/bytes.md")
    options = text_of("how-to/write-a-collection.md")
    for name, mechanism in BY_NAME.items():
        assert re.search(rf"^##+ {name}$", mechanisms, re.MULTILINE), name
        rows = [row for row in layouts.split("\n") if row.startswith("|") and f"`{name}`" in row]
        assert len(rows) >= 3, f"{name}: report, reference draw and counters in bytes.md"
        for option in getattr(mechanism, "OPTIONS", ()):
            assert f"`{option}`" in options, f"option {option!r} of {name}"


# --- What holds the pages together ----------------------------------------------------------


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        text = re.sub(r"```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
        for target in re.findall(r"\]\(([^)]+)\)", text):
            path, _, anchor = target.partition("#")
            assert "://" not in target, f"{page}: pages are read without a network; got {target}"
            found = (page.parent / path).resolve() if path else page
            assert found.is_file(), f"{page}: {target}"
            if anchor:
                titles = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = {
                    re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles
                }
                assert anchor in slugs, f"{page}: {target}"


def links_of(page: Path) -> set[Path]:
    """The pages that a page links to."""
    text = re.sub(r"```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    targets = re.findall(r"\]\(([^)#]+\.md)", text)
    return {(page.parent / target).resolve() for target in targets}


def test_every_page_is_reached_from_the_start_by_role() -> None:
    start = make_pages.DOCS / "index.md"
    reached, further = {start}, {start}
    while further:
        further = {page for seen in further for page in links_of(seen)} - reached
        reached |= further
    missed = {*make_pages.DOCS.rglob("*.md")} - reached
    assert not missed, f"docs/index.md leads to no link of {sorted(map(str, missed))}"
    text = start.read_text(encoding="utf-8")
    roles = ("Product engineer", "Survey researcher", "Privacy engineer", "Scientist", "Operator")
    for role in (*roles, "Contributor"):
        assert section(text, f"## {role}").strip(), role


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 180


def test_lines_of_prose_are_short() -> None:
    """But for tables, pictures, code, and what a command or docs/make_papers.py writes."""
    too_long = list[str]()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"```.*?^```|<!-- [\w-]+: .*?<!-- end -->", "", text, flags=re.DOTALL | re.M)
        long = [line for line in text.splitlines() if len(line) > 100]
        found = [line for line in long if not _MAY_BE_LONG.match(line)]
        too_long += [f"{page.relative_to(ROOT)}: {line}" for line in found]
    assert not too_long


def test_the_changelog_is_one_page_of_short_lines() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    titles = [line for line in lines if line.startswith("### ")]
    assert titles[:3] == ["### Added", "### Changed", "### Fixed"]
    assert {*titles} == {*titles[:3]}


def test_paths_named_for_contributors_exist() -> None:
    """But for those of `ternary` and `yesno`, which the page says how to add."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {*re.findall(r"`((?:src|tests|docs|benchmarks|examples|deploy)/[\w./-]+)", text)}
    assert len(named) > 30
    added = {path for path in named if re.search(r"src/.*(?:ternary|yesno)", path)}
    for path in named - added:
        assert (ROOT / path).exists(), path
    for module in re.findall(r"`python -m ([\w.]+)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
    folders = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert {*folders} == {path.name for path in (ROOT / "src/rumor").iterdir() if path.is_dir()} - {
        "__pycache__"
    }
    drawn = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert drawn is not None, "a picture of the way from a value to an estimate"
    for name in ("client", "collector", "analysis", "results", "contract", "privacy"):
        assert f"{name}/" in drawn[1]
        assert (ROOT / "src/rumor" / name).is_dir()


def test_paths_named_in_the_documentation_exist() -> None:
    for page in make_pages.DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for path in re.findall(r"`((?:src|tests|benchmarks|examples|deploy)/[\w./-]+\w)", text):
            assert (ROOT / path).exists(), f"{page.relative_to(ROOT)}: {path}"


def test_words_are_plain() -> None:
    """What reads foreign has a plain word; names of columns and keys stand in code."""
    foreign = re.compile(r"\bunless said\b|\basked by\b(?! name)", re.IGNORECASE)
    for page in PAGES:
        text = re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8"))
        found = foreign.search(text)
        assert found is None, f"{page.relative_to(ROOT)}: {found}"


def test_no_star_of_a_formula_is_taken_for_emphasis() -> None:
    """Formulas with p* and q* stand in code, or Markdown would eat their stars."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"```.*?^```|^    .*?$|`[^`\n]*`", "", text, flags=re.DOTALL | re.M)
        assert not re.search(r"\b[pq]\*[^*]", text), page


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in make_pages.DOCS.rglob("*.md"):
        assert f" {page.relative_to(make_pages.DOCS).as_posix()}\n" in navigation, page


def test_nothing_is_fetched() -> None:
    """The site needs no network: no fonts, scripts or pictures from elsewhere."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "://" not in settings


# --- Promises -------------------------------------------------------------------------------


def test_the_tests_that_the_threat_model_names_are_there() -> None:
    """Each promise names its test, and every cell of the table uses letters that are explained."""
    text = text_of("explanation/threat-model.md")
    named = re.findall(r"`(tests/[\w/]+\.py)((?:::\w+)*)`", text)
    assert len(named) > 20
    for path, names in named:
        code = (ROOT / path).read_text(encoding="utf-8")
        for name in names.split("::")[1:]:
            assert re.search(rf"^ *(def|class) {name}\b", code, re.MULTILINE), (path, name)
    rows = [line.split("|") for line in section(text, "## Alone and in pairs").split("\n")]
    cells = [row for row in rows if len(row) == 10 and row[1].strip().startswith("**")]
    legend = {row[1].strip() for row in rows if len(row) == 5}
    assert len(cells) == 7
    for place, row in enumerate(cells):
        assert all(not cell.strip() for cell in row[2 : 2 + place])
        for cell in row[2 + place : 9]:
            assert {letter.strip() for letter in cell.split(",")} <= legend, cell
