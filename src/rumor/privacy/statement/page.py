"""A statement as a page of its own: no script, nothing loaded, fit to print."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rumor.privacy.statement.sheet import Sheet
from rumor.privacy.statement.statement import Section, Statement
from rumor.results.chart_files import POLICY

_STYLE = """
main { max-width: 46rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.15rem; margin: 1.8rem 0 0.4rem; }
p + p { margin-top: 0.5rem; }
dl {
  margin: 0.6rem 0 0; display: grid; grid-template-columns: minmax(7rem, auto) 1fr;
  gap: 0.35rem 1rem;
}
dt { font-weight: 600; overflow-wrap: anywhere; } dd { margin: 0; overflow-wrap: anywhere; }
.consent { padding: 1rem 1.3rem; margin-top: 1.2rem; break-inside: avoid; }
.consent h2 { margin-top: 0; }
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; }
  @page { size: A4; margin: 15mm; }
  body { font-size: 9.5pt; line-height: 1.4; }
  main { margin: 0; padding: 0; max-width: none; } h2 { margin-top: 0.9rem; break-after: avoid; }
}
"""


def page(statement: Statement, style: str) -> str:
    """Return the statement as HTML, in the `style` of the other pages."""
    sections = "".join(_section(section) for section in statement.sections)
    consents = "".join(
        f'<section class="consent card" lang="{each.language}"><h2>{escape(each.title)}</h2>'
        + "".join(f"<p>{escape(line)}</p>" for line in each.lines)
        + "</section>"
        for each in statement.consents
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(statement.title)}</title>
<style>{style}{_STYLE}</style>
<body><main>
<h1>{escape(statement.title)}</h1>
<p class="soft">{escape(statement.lead)}</p>
{sections}
{consents}
</main></body>
</html>
"""


_SHEET = """
.sheet { padding: 0 0 2rem; } .sheet + .sheet { break-before: page; }
.sheet blockquote { font-size: 1.3rem; margin: 1rem 0; }
.spoken p { font-size: 1.05rem; max-width: 40rem; }
@media print { .spoken p { font-size: 12pt; } .sheet blockquote { font-size: 16pt; } }
"""


def sheet_page(sheets: Sequence[Sheet], style: str) -> str:
    """Return interviewers' sheets as HTML, a printed page for each."""
    body = "".join(
        _sheet(each, "sheet spoken", f"<blockquote>{escape(each.question)}</blockquote>")
        for each in sheets
    )
    return _sheets(sheets[0].language, sheets[0].title, body, style)


def assessment_page(assessments: Sequence[Statement], style: str) -> str:
    """Return assessments as HTML, each from a printed page of its own."""
    body = "".join(
        _sheet(each, "sheet", f'<p class="soft">{escape(each.lead)}</p>') for each in assessments
    )
    return _sheets(assessments[0].language, assessments[0].title, body, style)


def _sheet(each: Sheet | Statement, classes: str, opening: str) -> str:
    """Return one printed page: a title, what it opens with, and its sections."""
    sections = "".join(_section(section) for section in each.sections)
    return (
        f'<section class="{classes}" lang="{each.language}"><h1>{escape(each.title)}</h1>'
        f"{opening}{sections}</section>\n"
    )


def _sheets(language: str, title: str, body: str, style: str) -> str:
    return f"""<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}{_STYLE}{_SHEET}</style>
<body><main>
{body}</main></body>
</html>
"""


def _section(section: Section) -> str:
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in section.facts
    )
    paragraphs = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in section.paragraphs)
    return (
        f"<section><h2>{escape(section.heading)}</h2>{paragraphs}"
        + (f"<dl>{facts}</dl>" if facts else "")
        + "</section>\n"
    )
