"""Write the tables and figures on the pages of the papers, from the results in the project.

A block of a page stands between two comments, <!-- css2020: table readings --> and <!-- end -->,
and is written here; the words around it are not. `make pages` brings everything up to date.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path

from rumor.papers import MODULES, paper
from rumor.papers.charts import digest, picture
from rumor.papers.model import Paper, Results
from rumor.papers.render import RULE, Block, blocks, counts, formula_counts, markdown
from rumor.papers.runner import committed, results

FOLDER = Path(__file__).resolve().parent / "papers"
PICTURES = FOLDER / "pictures"
_BLOCK = re.compile(r"<!-- ([\w-]+): (.+?) -->\n.*?<!-- end -->", re.DOTALL)


@functools.cache
def loaded(name: str) -> tuple[Paper, Results, dict[str, Block]]:
    """A paper, its committed results, and what there is to show."""
    found, measured = paper(name), results(*committed(name))
    return found, measured, {block.name: block for block in blocks(found, measured)}


def files() -> dict[Path, str]:
    """Every page and every picture as it should be."""
    made: dict[Path, str] = {}
    for page in sorted(FOLDER.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        made[page] = _BLOCK.sub(_written, text)
        for name, what in _BLOCK.findall(text):
            if what.startswith("figure "):
                figure = loaded(name)[2][what].figure
                assert figure is not None
                target = PICTURES / f"{name}-{figure.name}.svg"
                made[target] = _kept(target, digest(figure)) or picture(figure)
    return made


def _kept(target: Path, wanted: str) -> str | None:
    """A picture that shows this already: letters differ between machines, numbers do not."""
    text = target.read_text(encoding="utf-8") if target.exists() else ""
    return text if text.endswith(f"<!-- {wanted} -->\n") else None


def _written(match: re.Match[str]) -> str:
    name, what = match[1], match[2]
    if name == "papers":
        body = overview()
    else:
        shown = loaded(name)[2]
        if what not in shown:
            raise ValueError(f"{name} has no block {what!r}; it has {', '.join(shown)}")
        block = _for_page(shown[what])
        body = markdown(block, f"pictures/{name}-")
        if what.startswith(("claims ", "table ")):  # dense tables with a caption
            body = f'<div class="numbers" markdown>\n\n**{block.title}**\n\n{body}\n\n</div>'
    return f"<!-- {name}: {what} -->\n\n{body}\n\n<!-- end -->"


def _for_page(block: Block) -> Block:
    """A block as the documentation shows it: shorter than `rumor papers show` prints it.

    The rule of what counts as reproduced stands once, in docs/papers/index.md. Claims are laid
    out as in the paper, and numbers with the same explanation share a row.
    """
    if block.name == "summary":
        return replace(block, text=[text for text in block.text if text != RULE])
    if block.name.startswith("claims "):
        return _laid_out(block)
    if block.name == "explained":
        together: dict[str, list[str]] = {}
        for name, published, reproduced, why in block.rows:
            together.setdefault(why, []).append(f"{name}: {published}, {reproduced}")
        rows = [[why, "; ".join(numbers)] for why, numbers in together.items()]
        return replace(block, head=["why", "number: published, reproduced"], rows=rows)
    return block


def _laid_out(block: Block) -> Block:
    """Claims as a table of the paper: its rows and columns; a list where these do not fit.

    The ratio of two columns is left out, and so is what is empty in every row. In a table, a
    distance with "!" does not fit.
    """
    cells = [dict(zip(block.head, row, strict=True)) for row in block.rows]
    down = list(dict.fromkeys(cell["row"] for cell in cells))
    across = list(dict.fromkeys(cell["column"] for cell in cells))
    by_place = {(cell["row"], cell["column"]): cell for cell in cells}
    ours: dict[str, set[str]] = {column: set() for column in across}
    for cell in cells:
        ours[cell["column"]].add(cell.get("ours", ""))
    full = len(by_place) == len(cells) == len(down) * len(across)
    if len(across) < 3 or len(down) < 2 or not full or any(len(s) > 1 for s in ours.values()):
        empty = {name for name in ("column", "distance") if not any(c.get(name) for c in cells)}
        kept = [name for name in block.head if name != "ratio" and name not in empty]
        return replace(block, head=kept, rows=[[cell[name] for name in kept] for cell in cells])
    rows = []
    for name in down:
        line = [by_place[name, column] for column in across]
        rows.append([f"{name}, published", *(cell["published"] for cell in line)])
        rows.append(["reproduced", *(cell["reproduced"] for cell in line)])
        marks = ("" if cell["fits"] == "yes" else "!" for cell in line)
        rows.append(["distance", *(c["distance"] + m for c, m in zip(line, marks, strict=True))])
    if "ours" in block.head:
        rows.append(["ours", *(value for column in across for value in ours[column])])
    return replace(block, head=["", *across], rows=rows)


def overview() -> str:
    """All papers with their counts, and the counts in a sentence."""
    lines = [
        "| name | document | published numbers | as printed | after a re-reading | unexplained |",
        "|---|---|---|---|---|---|",
    ]
    total = dict.fromkeys(("published", "as_printed", "re_read", "unexplained"), 0)
    formulas = 0
    for name in MODULES:
        found, measured, _ = loaded(name)
        verdicts = found.verdicts(measured)
        number = counts(verdicts)
        formulas += formula_counts(verdicts)[0]
        for key in total:
            total[key] += number[key]
        shown = " | ".join(str(number[key]) for key in total)
        lines.append(f"| [`{name}`]({name}.md) | {found.source} | {shown} |")
    lines.append(f"| all | | {' | '.join(str(value) for value in total.values())} |")
    note = f"{formulas} more are formulas of a document, evaluated at parameters chosen here."
    return "\n".join([*lines, "", note])
