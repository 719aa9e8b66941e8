"""The demonstration as a page: one HTML file that needs no network and no script."""

from __future__ import annotations

from html import escape
from pathlib import Path

import rumor.collector
from rumor.core.errors import InputError
from rumor.core.files import PathLike, write_whole
from rumor.core.plain_text import decimals_for, percent
from rumor.demo.crowd import Demo
from rumor.results.chart_files import POLICY
from rumor.results.rows import poisoning_line
from rumor.results.view import View

_STYLE = """
* { box-sizing: border-box; }
body { font: 400 1.0625rem/1.6 var(--sans); color: var(--ink); background: var(--paper);
       max-width: 46rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1, h2 { line-height: 1.25; letter-spacing: -0.011em; text-wrap: balance; }
h1 { font-size: 1.8rem; font-weight: 650; margin-bottom: .3rem; }
h2 { font-size: 1.2rem; font-weight: 620; margin-top: 2.4rem; }
.lead { color: var(--soft); margin-top: 0; }
.say { background: var(--wash); border-radius: .8rem; padding: .9rem 1.1rem; }
table { border-collapse: collapse; }
th, td { padding: .24rem .9rem .24rem 0; text-align: right; font-variant-numeric: tabular-nums; }
th { font-weight: 600; color: var(--soft); font-size: .85rem; }
th:first-child, td:first-child { text-align: left; }
.bit { display: inline-grid; place-items: center; width: 1.55rem; height: 1.55rem;
       color: var(--soft); border: 1px solid var(--soft); border-radius: .4rem;
       font: 600 .8rem/1 var(--mono); }
.one { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
tr.truth td:first-child { font-weight: 600; }
figure { margin: 1rem 0; padding: 1.1rem 1.2rem; background: var(--card); border-radius: 1rem;
         border: 1px solid var(--line); }
figcaption { margin-bottom: .8rem; font-size: .92rem; color: var(--soft); }
.track .true, .key { width: .6rem; height: .6rem; background: var(--warn);
                     transform: rotate(45deg); }
.track .true { left: calc(var(--truth) - .3rem); top: calc(50% - .3rem); }
.key { display: inline-block; margin: 0 .3rem 0 .2rem; }
.shares :is(th, td):not(:first-child) { white-space: nowrap; }
@media (max-width: 30rem) { .shares { width: 100%; font-size: .88rem; }
  .shares :is(th, td) { padding-right: .5rem; }
  .shares :is(th, td):last-child { padding-right: 0; } }
small, code { color: var(--soft); } code { font: .8em var(--mono); overflow-wrap: anywhere; }
"""


_WEB = Path(rumor.collector.__file__).parent / "web"


def tokens() -> str:
    """Return the pages' colours and fonts: the style sheet up to its first rule for elements."""
    return (_WEB / "base.css").read_text("utf-8").partition("\n*, ::before")[0]


def _bars_style() -> str:
    """Return the style of the dashboard's bars: their colour, and the rules of their rows."""
    style = (_WEB / "dashboard.css").read_text("utf-8")
    colours, _, rest = style.partition("\n.top")
    return (
        f"{colours}\n.bars{rest.partition(chr(10) + '.bars')[2].partition(chr(10) + '.presets')[0]}"
    )


def write_page(demo: Demo, path: PathLike) -> Path:
    """Write the page, whole or not at all; returns where it is."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a page must be written to an .html file; got {str(path)!r}")
    write_whole(target, page(demo).encode("utf-8"))
    return target


def page(demo: Demo) -> str:
    """Return the page as HTML."""
    person, answer = demo.person, escape(demo.labels[demo.person.answer])
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rumor: a sensitive question</title>
<style>{tokens()}{_bars_style()}{_STYLE}</style>
<main>
<h1>{escape(demo.question.text)}</h1>
<p class="lead">{demo.estimate.reports:,} simulated people answered. Nobody saw an answer.</p>

<h2>One person</h2>
<p>Person {person.number:,} would have to say <b>{answer}</b>.
This is what left their device instead:</p>
{_bits(demo)}
<p>{escape(demo.coins)} {escape(demo.luck)}</p>
<p class="say">{escape(demo.privacy)}</p>

<h2>All of them</h2>
<p>A single report says next to nothing. But the coins are known, so their effect on the
counts of {demo.estimate.reports:,} reports is known too and can be undone:</p>
<figure><figcaption>What the reports reveal together; lines are 95% intervals,
<span class="key"></span>is the truth</figcaption>
{_bars(demo)}</figure>
{_shares(demo)}
{_liars(demo)}
<h2>How many people it takes</h2>
<p>Noise averages out: a hundred times the people, a tenth of the error. For an answer
that 2% give:</p>
{_crowds(demo)}

<h2>What was promised</h2>
<p>Each person spent epsilon {demo.question.epsilon:.4g}, once. The promise holds against
anybody, the collector included, whatever else they know and however much they compute.</p>
<p><small>Contract digest</small> <code>{demo.collection.digest}</code></p>
</main>
</html>
"""


def _liars(demo: Demo) -> str:
    """Return the sentence on the poisoning bound, if the estimate has one."""
    lines = poisoning_line(demo.estimate.diagnostics)
    return "".join(
        f"<p>Not every respondent need be honest: {escape(line)}.</p>\n" for line in lines
    )


def _bits(demo: Demo) -> str:
    def bit(value: int) -> str:
        return f'<span class="bit{" one" if value else ""}">{value}</span>'

    rows = "".join(
        f"<tr{' class=truth' if i == demo.person.answer else ''}><td>{escape(label)}</td>"
        f"<td>{bit(int(i == demo.person.answer))}</td><td>{bit(demo.person.bits[i])}</td></tr>"
        for i, label in enumerate(demo.labels)
    )
    return f"<table><tr><td></td><th>answer</th><th>sent</th></tr>{rows}</table>"


def _bars(demo: Demo) -> str:
    """Return the shares as the dashboard's bars, with the truth on each."""
    order = demo.estimate.ranking(None)
    low, high = demo.estimate.bounds(order, View(of="people", order="estimate"))
    most = max(high.max(), demo.truth.max())
    digits = decimals_for(float(demo.estimate.stderr.min()))
    rows = []
    for k, i in enumerate(order):
        share = demo.estimate.frequency[i]
        places = {"answer": share, "low": low[k], "high": high[k], "truth": demo.truth[i]}
        style = "; ".join(f"--{name}: {100 * place / most:.2f}%" for name, place in places.items())
        marks = '<i class="answer"></i><i class="whisker"></i><i class="true"></i>'
        ends = f"{percent(low[k], digits)} to {percent(high[k], digits)}".replace("%", "")
        rows.append(
            f'<li><span class="name">{escape(demo.labels[i])}</span>'
            f'<span class="track bar" style="{style}" aria-hidden="true">{marks}</span>'
            f'<span class="said"><strong>{percent(share, digits)}</strong> {ends}</span></li>'
        )
    return f'<ol class="bars">{"".join(rows)}</ol>'


def _shares(demo: Demo) -> str:
    order = demo.estimate.ranking(None)
    low, high = demo.estimate.bounds(order, View(of="people", order="estimate"))
    digits = decimals_for(float(demo.estimate.stderr.min()))
    rows = "".join(
        f"<tr><td>{escape(demo.labels[i])}</td><td>{percent(demo.truth[i], digits)}</td>"
        f"<td>{percent(demo.estimate.frequency[i], digits)}</td>"
        f"<td>{percent(low[k], digits)} to {percent(high[k], digits)}</td></tr>"
        for k, i in enumerate(order)
    )
    head = "<tr><td></td><th>truth</th><th>estimate</th><th>95% interval</th></tr>"
    truth = demo.truth[order]
    held = int(((low <= truth) & (truth <= high)).sum())
    return (
        f'<table class="shares">{head}{rows}</table>\n'
        f"<p>{held} of {len(order)} intervals hold the truth; in the long run at least 95% do.</p>"
    )


def _crowds(demo: Demo) -> str:
    rows = "".join(
        f"<tr><td>{people:,}</td><td>± {percent(error, decimals_for(error))}</td></tr>"
        for people, error in demo.crowds()
    )
    return f"<table><tr><th>people</th><th>typical error</th></tr>{rows}</table>"
