"""The pages, run by Node in a small document: what people do, and all that follows from it."""

from __future__ import annotations

import difflib
import functools
import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rumor.client.modules import FOLDER as CLIENT
from rumor.collector.answer_page import WEB
from rumor.contract.collection import Question
from rumor.mechanisms import Wave
from tests import lives_of_analysts, lives_of_respondents
from tests.everything import every_mechanism
from tests.lives_of_analysts import DAYS, QUESTIONS
from tests.lives_of_respondents import control_questions
from tests.needs import needs
from tests.pages import LIVES, transcript

needs("node")
KNOWN = {**lives_of_respondents.LIVES, **lives_of_analysts.LIVES}
PRIVATE = {"credentials": "omit", "cache": "no-store"}
PRIVATE_REPORTS = {**PRIVATE, "redirect": "error", "referrerPolicy": "no-referrer"}


@functools.cache
def results(name: str) -> list[dict[str, Any]]:
    """What came of each step of a life; it is lived once for all tests."""
    return KNOWN[name]().results()


@pytest.mark.parametrize("name", KNOWN)
def test_a_life_goes_as_it_is_written(name: str) -> None:
    """Every line of the page, request, pause, row that is kept, chart and focus of every step."""
    written = (LIVES / f"{name}.txt").read_text("utf-8").splitlines()
    found = transcript(results(name)).splitlines()
    changes = difflib.unified_diff(written, found, "written", "found", n=3, lineterm="")
    said = "\n".join(itertools.islice(changes, 60))
    assert found == written, f"`python -m tests.pages` writes this anew:\n{said}"


def parts(name: str) -> Iterator[dict[str, Any]]:
    """What came of each step of lives that go together."""
    for each in KNOWN:
        if re.fullmatch(rf"{name}-\d+", each):
            yield from results(each)


def test_every_transcript_has_its_life() -> None:
    assert {path.stem for path in LIVES.iterdir()} == set(KNOWN)


@pytest.mark.parametrize("name", lives_of_respondents.LIVES)
def test_a_respondent_says_no_more_than_they_must(name: str) -> None:
    for result in results(name):
        for request in result["requests"]:
            said = {key: request[key] for key in PRIVATE_REPORTS}
            assert said == PRIVATE_REPORTS
            assert request["timeout"] == 10_000
            assert not {"Authorization", "Cookie"} & set(request.get("headers", ()))


@pytest.mark.parametrize("name", lives_of_analysts.LIVES)
def test_an_analyst_shows_a_token_and_no_cookie(name: str) -> None:
    asked = [request for result in results(name) for request in result["requests"]]
    assert asked
    for request in asked:
        assert {key: request[key] for key in PRIVATE} == PRIVATE
        assert request["headers"]["Authorization"].startswith("Bearer ")
        assert "token" not in request["url"]


def test_each_envelope_waits_before_it_goes() -> None:
    """Half of two seconds, where chance always says one half."""
    sent = 0
    for result in results("through-a-relay"):
        goes = {each["url"] for each in result["requests"] if "/v1/relay/" in each["url"]}
        assert result["pauses"].count(1000) >= len(goes)
        sent += len(goes)
    assert sent > 5


def cards(page: list[str]) -> dict[str, list[str]]:
    """The lines of each question's card."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in page:
        if start := re.match(r'\s*section class="card .*data-question="([^"]*)"', line):
            name = start[1]
        elif re.match(r'\s*p id="status"', line):
            name = ""
        if name:
            found.setdefault(name, []).append(line)
    return found


def test_tiles_are_the_bits_that_are_sent() -> None:
    """Of every mechanism whose report is shown whole: the lowest bit of a byte comes first."""
    reports: dict[str, bytes] = {}
    shown, sent = set(), {}
    for result in parts("every-report"):
        reports |= {row["question"]: bytes.fromhex(row["report"]) for row in _pending(result)}
        for id, lines in cards(result["page"]).items():
            for place, line in enumerate(lines):
                if "The whole report is" in line:
                    tiles = next(each for each in lines[place:] if " tiles " in each).split()[-1]
                    bits = "".join(f"{byte:08b}"[::-1] for byte in reports[id][:48])
                    assert tiles == bits, id
                    shown.add(id)
        for request in result["requests"]:
            if request["url"] == "/v1/reports":
                body = bytes.fromhex(request["body"]["hex"])
                sent[request["headers"]["Rumor-Question"]] = body[16:]
    assert set(reports) == {question.id for question in every_mechanism().questions}
    assert sent == reports
    assert len(shown) > 10


def _pending(result: dict[str, Any]) -> list[dict[str, Any]]:
    (database,) = result["databases"].values()
    rows: list[dict[str, Any]] = database["ledger"].get("person", {}).get("pending", [])
    return rows


def strips(question: Question) -> Iterator[tuple[str, str | None]]:
    """What a control of ordered answers holds after each step, and the strip below it."""
    for result in parts("every-control"):
        lines = cards(result["page"]).get(question.id, [])
        if not any("card open" in line for line in lines):
            continue
        typed = [re.search(r'type="(?:number|text)".* = "(.*)"', line) for line in lines]
        ticked = [re.search(r'value="(.*)" \[x\]', line) for line in lines]
        marked = [line for line in lines if "insetInlineStart" in line]
        slid = [re.search(r'p class="value" dir="auto" .*: "(.*)"', line) for line in lines]
        held = [found for found in (*typed, *ticked, *slid) if found is not None]
        yield held[0][1].strip() if held else "", marked[0] if marked else None


@pytest.mark.parametrize(
    "question",
    [question for question in control_questions().questions if question.kind == "ordered"],
    ids=lambda question: question.id,
)
def test_the_strip_is_where_reports_of_the_answer_are_likeliest(question: Question) -> None:
    """What is no answer has none."""
    mechanism, labels = question.mechanism, list(question.labels or ())
    assert isinstance(mechanism, Wave)
    scale, outputs = mechanism.scale, mechanism.scale.domain + mechanism.window - 1
    seen = set()
    for held, strip in strips(question):
        # A long list takes a label in any case.
        held = next((label for label in labels if label.lower() == held.lower()), held)
        is_answer = held in labels if labels else held != ""
        assert (strip is not None) == is_answer, held
        if strip is None:
            continue
        point = labels.index(held) if labels else math.floor(scale.point(float(held)))
        place = min(point, scale.domain - 1)
        start, width = (float(each) for each in re.findall(r"([-\d.]+)%", strip))
        assert start == pytest.approx(100 * place / outputs, rel=1e-12)
        assert width == pytest.approx(100 * mechanism.window / outputs, rel=1e-12)
        seen.add(place)
    assert len(seen) >= min(3, scale.domain)


def test_notes_look_alike_on_pages_and_in_elements() -> None:
    """A mistake, information and what was received: the same rules in both style sheets."""
    page = (WEB / "base.css").read_text("utf-8")
    rules = re.findall(r"^\.notice\b.*?\}$", page, re.MULTILINE | re.DOTALL)
    assert len(rules) == 6
    element = (CLIENT / "view" / "style.js").read_text("utf-8")
    assert [rule for rule in rules if rule not in element] == []


def charts(name: str) -> Iterator[tuple[str, str, Any]]:
    """The question that is looked at, the place, and the rows of everything that was drawn."""
    for result in results(name):
        current = [n for n, line in enumerate(result["page"]) if "aria-current" in line]
        for drawn in result["drawn"]:
            name = result["page"][current[0] + 1].rpartition('"About ')[2].rstrip('?"')
            id = name if name in QUESTIONS else "many"
            spec = drawn["spec"]
            data = [each["data"]["values"] for each in spec.get("vconcat", [spec])]
            yield id, drawn["id"], data


def test_charts_show_the_numbers_of_their_documents() -> None:
    seen = set()
    for id, place, data in charts("every-kind"):
        kind, _, document = QUESTIONS[id]
        if place == "perday":
            assert [{k: row[k] for k in ("day", "last", "reports")} for row in data[0]] == DAYS
        elif place == "tables":
            for table, shown in zip(document["tables"], data, strict=True):
                first, second = table["parts"]
                cells = [
                    {**row, "row": row[first], "column": row[second]}
                    for row in document["estimates"]
                    if None not in (row[first], row[second])
                ]
                assert shown == cells
        else:
            raise AssertionError(place)
        seen.add((kind, place))
    assert len(seen) >= len({kind for kind, _, _ in QUESTIONS.values()}) + 1


def bars(lines: list[str], place: str) -> list[tuple[str, list[float], list[float]]]:
    """The rows of a chart of bars: name, numbers in print, and places on the track in per cent."""
    start = next((n for n, line in enumerate(lines) if f'div id="{place}"' in line), None)
    if start is None or "hidden" in lines[start]:
        return []
    deep = len(lines[start]) - len(lines[start].lstrip())
    inside = itertools.takewhile(lambda line: line[: deep + 1].isspace(), lines[start + 1 :])
    found: list[tuple[str, list[float], list[float]]] = []
    for line in map(str.strip, inside):
        if line.startswith('span class="name"'):
            found.append((line.partition(': "')[2][:-1], [], []))
        elif 'class="track' in line:
            found[-1][2].extend(float(each) for each in re.findall(r": ([\d.]+)%", line))
        elif line.startswith("strong") or " to " in line:
            found[-1][1].extend(float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", line))
    return found


@pytest.mark.parametrize("id", QUESTIONS)
def test_bars_show_the_numbers_of_their_documents(id: str) -> None:
    """In print to the digits that carry information, and as places between the ends."""
    kind, ends, document = QUESTIONS[id]
    name = f'"About {id}?"' if id != "many" else '"many"'
    (lines, *_) = (
        result["page"]
        for result in results("every-kind")
        if any(f'h1 dir="auto": {name}' in line for line in result["page"])
    )
    rows = document["histogram" if kind == "ordered" else "estimates"][:20]
    wanted = {"number": ["means"], "keyvalue": ["shares", "means"], "joint": []}
    for place in wanted.get(kind, ["shares"]):
        first = "mean_" if (place, kind) == ("means", "keyvalue") else ""
        quantity, scale = ("mean", 1) if place == "means" else ("frequency", 100)
        keys = (quantity, f"{first}low", f"{first}high")
        low, high = (
            (0, max(row["high"] for row in rows)) if place == "shares" and rows else ends or (0, 1)
        )
        shown = bars(lines, place)
        assert [name for name, _, _ in shown] == [row["value"] for row in rows]
        for (_, numbers, places), row in zip(shown, rows, strict=True):
            assert numbers == pytest.approx([scale * row[key] for key in keys], rel=0.02, abs=0.51)
            share = [100 * (row[key] - low) / (high - low) for key in keys]
            assert places == pytest.approx(share, abs=0.01)
