"""A chart's HTML file in a real browser: it draws, without a network, and runs nothing else."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import pytest
from playwright.sync_api import expect

from rumor.results.chart_files import save_chart
from tests.browser.conftest import OpenPage

ATTACK = "</script><svg onload=\"document.title='run'\">"


def _saved(folder: Path) -> Path:
    rows = [{"value": text, "share": share} for text, share in ((ATTACK, 0.7), ("NUL \0", 0.3))]
    chart = alt.Chart(alt.InlineData(values=rows), title=ATTACK).mark_bar()
    path = folder / "chart.html"
    save_chart(
        chart.transform_calculate(twice="datum.share * 2").encode(x="twice:Q", y="value:N"), path
    )
    return path


@pytest.mark.slow
def test_it_draws_and_shows_texts_as_texts(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page()
    page.goto(_saved(tmp_path).as_uri())
    picture = page.locator("#picture canvas, #picture svg.marks")
    expect(picture).to_be_visible()
    assert page.title() == ATTACK


def test_what_gets_into_the_file_does_not_run(open_page: OpenPage, tmp_path: Path) -> None:
    """The policy is a second wall: also markup that came into the file is not run."""
    path = _saved(tmp_path)
    text = path.read_text(encoding="utf-8")
    inserted = "<script>document.title = 'run'</script>" + ATTACK.removeprefix("</script>")
    path.write_text(text.replace('<div id="picture">', f'{inserted}</svg><div id="picture">'))
    page = open_page(allowed="Content Security Policy")
    page.goto(path.as_uri())
    expect(page.locator("#picture canvas, #picture svg.marks")).to_be_visible()
    assert page.title() == ATTACK
