"""A run shown: the same blocks as Markdown and as HTML, the numbers as Parquet, figures as SVG.

Blocks have names, so that the pages of the documentation can take those that they need:
"summary", "claims PART", "explained", "table NAME", "figure NAME" and "checklist".
"""

from __future__ import annotations

import math
import platform
import re
import subprocess
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rumor import __version__
from rumor.core.files import whole_file, write_whole
from rumor.papers.charts import picture
from rumor.papers.model import (
    STANDARD_ERRORS,
    Figure,
    Paper,
    PaperTable,
    Results,
    TrialMean,
    Verdict,
)
from rumor.papers.runner import committed
from rumor.papers.runner import results as results_of

RULE = (
    f"A published number counts as reproduced when it lies within {STANDARD_ERRORS:g} standard "
    "errors of the difference, from the spread between our trials, the paper's own number of "
    "trials and ours. Numbers without chance must agree to the last printed digit."
)
UNRESOLVED = "Unresolved: "
_FEW = 8

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 72rem;
       margin: 2rem auto; padding: 0 1.2rem; }
table { border-collapse: collapse; font-size: .85rem; margin: .6rem 0 1.4rem; }
th, td { padding: .15rem .7rem .15rem 0; text-align: left; border-bottom: 1px solid #eee;
         font-variant-numeric: tabular-nums; vertical-align: top; }
th { color: #555; } figure { margin: 1rem 0; overflow-x: auto; }
svg { max-width: 100%; height: auto; }
.wide { overflow-x: auto; } code { font-size: .85em; }
"""


@dataclass(frozen=True)
class Block:
    """A part of a page: a title, paragraphs, and a table or a figure."""

    name: str
    title: str
    text: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    figure: Figure | None = None


def blocks(paper: Paper, results: Results) -> list[Block]:
    """Return all blocks of a paper's page."""
    verdicts = paper.verdicts(results)
    made = [summary(paper, results, verdicts)]
    for part in dict.fromkeys(v.claim.part for v in verdicts):
        made.append(_claims(part, [v for v in verdicts if v.claim.part == part]))
    failed = [v for v in verdicts if not v.holds]
    if failed:
        made.append(_explained(failed, _few_trials(paper, verdicts)))
    made += [_table(table) for table in paper.tables(results)]
    made += [Block(f"figure {f.name}", f.title, figure=f) for f in paper.figures(results)]
    made.append(_checklist(paper))
    return made


def counts(verdicts: Sequence[Verdict], in_full: Container[str] = ()) -> dict[str, int]:
    """Return counts of the published numbers: all, and by how they are reproduced.

    A number is reproduced "as printed", "re-read" (after a stated re-reading of its label or of
    itself) or "unexplained". What differs here and is reproduced `in_full`, by the names of claims,
    is down to "few trials". Values of formulas that are evaluated here are not published numbers.
    """
    printed = [v for v in verdicts if not v.claim.formula]
    failed = [v for v in printed if not v.holds and not v.holds_as_printed]
    few = sum(v.claim.name in in_full for v in failed)
    rest = [v for v in failed if v.claim.name not in in_full]
    unresolved = sum(v.claim.explanation.startswith(UNRESOLVED) for v in rest)
    silent = sum(not v.claim.explanation for v in rest)
    exact = sum(v.holds_as_printed for v in printed)
    return {
        "published": len(printed),
        "as_printed": exact,
        "re_read": len(printed) - exact - few - unresolved - silent,
        "unexplained": unresolved,
        "few trials": few,
        "without explanation": silent,
    }


def formula_counts(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    """Return the number of formula values evaluated here, and of those that hold exactly."""
    found = [v for v in verdicts if v.claim.formula]
    return len(found), sum(v.holds for v in found)


def _few_trials(paper: Paper, verdicts: Sequence[Verdict]) -> frozenset[str]:
    """Return the names of claims that the full results reproduce, where this run has few trials."""
    if not any(1 < v.reproduced.trials < _FEW for v in verdicts):
        return frozenset()
    return in_full(paper)


def in_full(paper: Paper) -> frozenset[str]:
    """Return the names of claims that the full results, which come with Rumor, reproduce."""
    return frozenset(v.claim.name for v in verdicts_in_full(paper) if v.holds)


def verdicts_in_full(paper: Paper) -> list[Verdict]:
    """Return every claim of a paper, held to the full results that come with Rumor."""
    return paper.verdicts(results_of(*committed(paper.name)))


def in_short(numbers: Sequence[Mapping[str, int]]) -> str:
    """Return a sentence on all papers of a run, for readers who have read none of them."""
    total = {key: sum(number[key] for number in numbers) for key in counts(())}
    text = counts_sentence(total)
    return f"In all: {text[0].lower()}{text[1:]}"


def counts_sentence(number: Mapping[str, int]) -> str:
    """Return the counts as a sentence."""
    total = number["published"]
    if total and total == number["as_printed"]:
        if total == 1:
            return "The one published number is reproduced as printed."
        return f"All {total} published numbers are reproduced as printed."
    text = (
        f"Of {total} published numbers, {number['as_printed']} are reproduced as printed, "
        f"{number['re_read']} after a stated re-reading, and {number['unexplained']} are "
        "unexplained"
    )
    if number["few trials"]:
        text += (
            f"; {number['few trials']} differ in this run of few trials and are reproduced by the "
            "full one that comes with Rumor"
        )
    if number["without explanation"]:
        text += f"; {number['without explanation']} differ in this run and have no explanation"
    return f"{text}."


def formula_sentence(verdicts: Sequence[Verdict]) -> str:
    """Return the number of formula values as a sentence; empty without any."""
    total, equal = formula_counts(verdicts)
    if not total:
        return ""
    return (
        f"{total} values of its formulas, at parameters chosen here, are compared with "
        f"enumeration: {equal} are exact, {total - equal} are upper bounds. They are no published "
        "numbers."
    )


def summary(paper: Paper, results: Results, verdicts: Sequence[Verdict]) -> Block:
    """Return how many numbers were reproduced, by which rule, from which run."""
    few = _few_trials(paper, verdicts)
    number = counts(verdicts, few)
    text = [counts_sentence(number), RULE] if number["published"] else []
    text += [formula_sentence(verdicts)] if formula_counts(verdicts)[0] else []
    made = results.made
    if few:
        text.append(
            "With so few trials the spread is itself uncertain: numbers may differ here that do "
            "not in a full run."
        )
    trials = sorted({m.trials for q in results.numbers.values() for m in q.values()} - {1})
    often = f"{' or '.join(map(str, trials))} trials each where chance plays"
    text.append(
        f"{len(results.numbers)} cells, {often if trials else 'all without chance'}; made by "
        f"`{made['command']}`, version {made['version']}, commit {made['commit']}."
    )
    return Block("summary", "Summary", text)


def _claims(part: str, verdicts: Sequence[Verdict]) -> Block:
    ours = any(v.ours is not None for v in verdicts)
    head = ["row", "column", "published", "reproduced"]
    head += ["ours"] if ours else []
    head += ["ratio", "distance", "fits"]
    rows = []
    for v in verdicts:
        published, reproduced = _both(v)
        row = [v.claim.row, v.claim.column, published, reproduced]
        if ours:
            row.append("" if v.ours is None else _with_error(v.ours))
        off = "" if v.stderr == 0 else f"{v.distance:.1f}"
        row += [f"{v.ratio:.3f}", off, "yes" if v.holds else "no"]
        rows.append(row)
    return Block(f"claims {part}", part, (), head, rows)


def _explained(failed: Sequence[Verdict], few: Container[str]) -> Block:
    rows = []
    for v in failed:
        why = v.claim.explanation or "No explanation is on file for this run."
        if v.claim.name in few:
            why = "Few trials: the full run that comes with Rumor reproduces it."
        rows.append((v.claim.name, *_both(v), why))
    head = ("number", "published", "reproduced", "why")
    return Block("explained", "Not reproduced", (), head, rows)


def _table(table: PaperTable) -> Block:
    text = (table.note,) if table.note else ()
    return Block(f"table {table.name}", table.title, text, table.head, table.rows)


def _checklist(paper: Paper) -> Block:
    rows = []
    for entry in paper.checklist:
        code = ", ".join(f"`{name}`" for name in entry.code)
        shown = f"`{entry.shown}`" if entry.shown else ""
        rows.append((entry.what, entry.says, shown, code, entry.note))
    head = ("item", "what it is", "command", "code", "remark")
    return Block("checklist", "Everything the document contains", (), head, rows)


def _both(verdict: Verdict) -> tuple[str, str]:
    """Return published and reproduced numbers as text; without chance, with all printed digits."""
    digits = 4 if verdict.claim.trials else 12 if 0 < verdict.claim.rounding < 1e-10 else 7
    shown = _with_error(verdict.reproduced)
    if verdict.reproduced.spread == 0:
        shown = number(verdict.reproduced.mean, digits)
    return number(verdict.claim.published, digits), shown


def number(value: float, digits: int = 4) -> str:
    """Return a number with as many digits as tables need."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) < 1e-300:  # the last digits of what doubles can hold
        return repr(value)
    if abs(value) < 1e-4 or abs(value) >= 1e7:
        return f"{value:.3e}"
    return f"{value:.{digits}g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _with_error(found: TrialMean) -> str:
    if found.spread == 0:
        return number(found.mean)
    return f"{number(found.mean)} ± {found.stderr:.2g}"


# --- Markdown -------------------------------------------------------------------------------


def markdown(block: Block, pictures: str) -> str:
    """Return a block without its title; pictures are looked for in a folder."""
    parts = list(block.text)
    if block.rows:
        # The command's own text has bars and stars that Markdown would take for its own.
        lines = [_row(block.head), "|" + "---|" * len(block.head)]
        lines += [_row(row) for row in block.rows]
        parts.append("\n".join(lines))
    if block.figure is not None:
        parts.append(f"![{block.figure.title}]({pictures}{block.figure.name}.svg)")
    return "\n\n".join(parts)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Escape stars and bars in `text`, except in code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else piece.replace("|", "\\|").replace("*", "\\*")
        for piece in pieces
    )


# --- Files ----------------------------------------------------------------------------------


def write(paper: Paper, results: Results, folder: Path) -> dict[str, str]:
    """Write NAME.md, .html and .parquet and the figures; returns where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    made = blocks(paper, results)
    files = {kind: folder / f"{paper.name}.{kind}" for kind in ("md", "html", "parquet")}
    drawn = {b.figure.name: picture(b.figure) for b in made if b.figure is not None}
    for name, svg in drawn.items():
        write_whole(folder / f"{name}.svg", svg.encode())
    page = [f"# {paper.title}", paper.source]
    page += [f"## {b.title}\n\n{markdown(b, '')}" for b in made]
    write_whole(files["md"], ("\n\n".join(page) + "\n").encode())
    write_whole(files["html"], _html(paper, made, drawn).encode())
    _write_parquet(paper, results, files["parquet"])
    return {kind: str(path) for kind, path in files.items()}


def _html(paper: Paper, made: Sequence[Block], drawn: Mapping[str, str]) -> str:
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
            f"<title>{escape(paper.title)}</title>\n<style>{_STYLE}</style>\n<body>",
            f"<h1>{escape(paper.title)}</h1>\n<p>{escape(paper.source)}</p>",
            *(line for block in made for line in _html_block(block, drawn)),
            "</body>\n</html>\n",
        ]
    )


def _html_block(block: Block, drawn: Mapping[str, str]) -> Iterator[str]:
    yield f"<h2>{escape(block.title)}</h2>"
    for paragraph in block.text:
        yield f"<p>{_html_text(paragraph)}</p>"
    if block.rows:
        yield '<div class="wide"><table><tr>'
        yield "".join(f"<th>{_html_text(cell)}</th>" for cell in block.head) + "</tr>"
        for row in block.rows:
            yield "<tr>" + "".join(f"<td>{_html_text(cell)}</td>" for cell in row) + "</tr>"
        yield "</table></div>"
    if block.figure is not None:
        yield f"<figure>{drawn[block.figure.name]}</figure>"


def _html_text(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _write_parquet(paper: Paper, results: Results, file: Path) -> None:
    """Write a row for every quantity of every cell; claims carry their published number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    claimed = {(c.cell, c.quantity): c.published for c in paper.claims}
    rows = [
        {
            "paper": paper.name,
            "cell": cell,
            "quantity": quantity,
            "mean": found.mean,
            "spread": found.spread,
            "stderr": found.stderr,
            "trials": found.trials,
            "published": claimed.get((cell, quantity)),
        }
        for cell, quantities in results.numbers.items()
        for quantity, found in quantities.items()
    ]
    schema = pa.schema(
        [(name, pa.string()) for name in ("paper", "cell", "quantity")]
        + [(name, pa.float64()) for name in ("mean", "spread", "stderr")]
        + [("trials", pa.int64()), ("published", pa.float64())],
        metadata=dict(results.made),
    )
    with whole_file(file) as aside:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), aside)


def provenance(command: str) -> dict[str, str]:
    """Return version, commit and command of a run; the commit only within a repository."""
    return {
        "version": __version__,
        "commit": _commit(),
        "command": command,
        "python": platform.python_version(),
    }


def _commit() -> str:
    """Return the commit that the code is of, with a plus where it has been changed since."""
    here = str(Path(__file__).parent)

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", here, *words], capture_output=True, text=True, check=True, timeout=10
        )
        return done.stdout.strip()

    try:
        found = git("rev-parse", "--short=12", "HEAD")
        return f"{found}+" if git("status", "--porcelain", "--", here) else found
    except (OSError, subprocess.SubprocessError):
        return "unknown"
