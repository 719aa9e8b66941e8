"""What analysts do on the dashboard, for transcripts (tests/pages.py); the numbers are made up.

Every number of a document is another one, so that a number in the wrong place shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.lives_of_respondents import click, enter, next_answers, refusal
from tests.pages import Life, Step

Document = dict[str, Any]
DIGEST, OTHER = "ab" * 32, "cd" * 32
TOKEN = "rumor-token"
DAYS = [
    {"day": "2026-01-01", "last": "2026-01-31", "reports": 700},
    {"day": "2026-02-24", "last": "2026-02-24", "reports": 3},
    {"day": "2026-02-25", "last": "2026-02-25", "reports": 70},
    {"day": "2026-03-03", "last": "2026-03-03", "reports": 35},
    {"day": "2026-03-04", "last": "2026-03-04", "reports": 1},
]
_COMMON: Document = {
    "level": 0.95,
    "looks": "any",
    "of": "population",
    "covers": "95% of the rows hold the true share",
    "method": "auto",
    "diagnostics": {},
}


def rows(count: int, quantity: str = "frequency", **more: object) -> list[Document]:
    """Return rows whose numbers all differ."""
    return [
        {
            "value": f"value {i}",
            quantity: 0.4 / (i + 1),
            "low": 0.3 / (i + 1),
            "high": 0.5 / (i + 1),
            "stderr": 0.0111 + i / 1000,
            **more,
        }
        for i in range(count)
    ]


def halving(stderr: float | None = 0.0123, more: int = 2427) -> Document:
    return {"more_reports": more, "stderr": stderr}


def estimate(reports: int, estimates: Sequence[Document], **more: object) -> Document:
    noise = {"values": max(len(estimates) - 1, 0), "of": len(estimates)}
    found = {"reports": reports, "estimates": estimates, "halving": halving(), "above_noise": noise}
    return {**_COMMON, **found, **more}


def _joint(tables: int) -> Document:
    parts = [["smokes", "drinks"], ["smokes", "sleeps"]][:tables]
    cells = [
        {
            "smokes": a,
            "drinks": b,
            "sleeps": None,
            "frequency": 0.1 + 0.07 * i,
            "low": 0.01 * i,
            "high": 0.5 + 0.01 * i,
            "stderr": 0.02,
            "ratio": 1.25 - 0.1 * i,
        }
        for i, (a, b) in enumerate(
            [("yes", "often"), ("yes", "never"), ("no", "often"), ("no", "never")]
        )
    ]
    others = [
        {**cell, "drinks": None, "sleeps": cell["drinks"]} for cell in cells[: 2 * (tables - 1)]
    ]
    margin = {**cells[0], "drinks": None, "sleeps": None, "frequency": 0.44, "ratio": None}
    found = [
        {
            "parts": part,
            "independence": {"p_value": [0.04321, 0.00001][i]},
            "cramers_v": {"value": 0.2345, "low": 0.1, "high": 0.3},
            "odds_ratio": [{"value": 2.5, "low": 1.1, "high": None}, None][i],
            "weight_of_independence": 0.123,
        }
        for i, part in enumerate(parts)
    ]
    return estimate(809, [*cells, *others, margin], tables=found)


KEYED = [
    {
        **row,
        "known": i != 1,
        "mean": 1.5 + i,
        "mean_low": 1.1 + i,
        "mean_high": 1.9 + i,
        "mean_known": i != 2,
    }
    for i, row in enumerate(rows(3))
]
SETS = [
    {
        "first": f"a{i}",
        "second": f"b{i}",
        "frequency": 0.3 - i / 50,
        "low": 0.2 - i / 50,
        "high": 0.4 - i / 50,
        "stderr": 0.02,
    }
    for i in range(6)
]
ORDERED: Document = {
    "histogram": rows(4),
    "mean": {"value": 3.14159},
    "quantiles": [{"share": 0.25, "value": 1.0}, {"share": 0.5, "value": 2.71828}],
}
# By question: kind, range, and the estimate.
QUESTIONS: Mapping[str, tuple[str, list[float] | None, Document]] = {
    "colour": (
        "choice",
        None,
        estimate(
            809,
            rows(3),
            notes=["a note"],
            alarms=["too many of one"],
            diagnostics={
                "warning": "look twice",
                "fake_clients": {"sentence": "8 fakes could move it"},
            },
        ),
    ),
    "many": (
        "choice",
        None,
        estimate(809, rows(23), diagnostics={"converged": False}, halving=halving(0.5, 1)),
    ),
    "most": ("choice", None, estimate(809, rows(500))),
    "word": (
        "text",
        None,
        estimate(
            809,
            rows(2),
            other=0.0625,
            other_stderr=0.004,
            detected=2,
            candidates=1045,
            controls="false discovery rate at most 5 %",
        ),
    ),
    "none": (
        "words",
        None,
        estimate(
            809,
            [],
            halving=halving(None, 5),
            other=None,
            other_stderr=0,
            detected=0,
            candidates=9,
            controls="nothing",
        ),
    ),
    "hours": (
        "number",
        [0.0, 12.0],
        estimate(
            809,
            [{"value": "mean", "mean": 6.5028, "low": 6.1, "high": 6.9, "stderr": 0.19}],
            halving=halving(0.19),
        ),
    ),
    "habits": ("keyvalue", [0.0, 6.0], estimate(809, KEYED)),
    "ways": ("set", None, estimate(809, rows(2), pairs=SETS)),
    "single": ("set", None, estimate(809, rows(21), pairs=None)),
    "grades": ("ordered", None, estimate(809, rows(4), **ORDERED)),
    "marks": (
        "ordered",
        None,
        estimate(
            809, rows(4), **{**ORDERED, "quantiles": [{"share": 0.5, "value": 2, "label": "fair"}]}
        ),
    ),
    "table": ("joint", None, _joint(1)),
    "tables": ("joint", None, _joint(2)),
}


def question(id: str, kind: str, range: list[float] | None, **more: object) -> Document:
    return {
        "id": id,
        "kind": kind,
        "text": f"About {id}?",
        "mechanism": "unary",
        "report_bytes": 2,
        "any_look": True,
        "range": range,
        "asked": "once",
        "epsilon": 1.09861,
        "epsilon_total": 1.09861,
        "privacy": "Someone who sees your report learns little.",
        "retention_days": 90,
        "reports": 809,
        "dropped": 0,
        "days": DAYS,
        **more,
    }


def overview(questions: Sequence[Document], **more: object) -> Document:
    known = [{"digest": DIGEST, "name": "A survey", "state": "open"}]
    return {
        "collection": DIGEST,
        "name": "A survey",
        "collections": known,
        "asks": None,
        "questions": questions,
        **more,
    }


def integrity(**more: object) -> Document:
    return {
        "testable": True,
        "alarm": False,
        "reports": 800,
        "explanation": "Chance explains it.",
        **more,
    }


def network(found: Document, **documents: object) -> Document:
    """Return a network with an overview, and documents by path; unlike ones are of QUESTIONS."""
    served: Document = {"/v1/overview": found}
    for id, (_, _, document) in QUESTIONS.items():
        served |= {f"/v1/estimates/{id}": document, f"/v1/integrity/{id}": integrity()}
    return {
        "served": {
            **served,
            **{f"/v1/{path.replace('__', '/')}": each for path, each in documents.items()},
        }
    }


SIGNED: Step = {"do": "visit", "page": "dashboard", "address": f"/#token={TOKEN}"}
VISIT: Step = {"do": "visit", "page": "dashboard", "address": "/"}
MANUAL = {"automatic": False}


def every_kind() -> Life:
    """Look at every kind of question and its table, with an alarm and without."""
    asked = [question(id, kind, range) for id, (kind, range, _) in QUESTIONS.items()]
    asked[1] |= {"epsilon_total": 2.5, "retention_days": None, "report_bytes": 1, "text": ""}
    asked[2] |= {"dropped": 1, "retention_days": 1000}
    quiet = integrity(testable=False)
    alarm = integrity(alarm=True, explanation="these reports look crafted")
    steps = [SIGNED]
    finding = [enter("#find", "VALUE 1"), enter("#find", "nothing"), enter("#find", "")]
    for id in QUESTIONS:
        name = f"About {id}?" if id != "many" else "many"
        table = {"do": "toggle", "at": "#as-table"}
        steps += [click("#questions button", name), *([table] if id != "most" else [])]
        steps += finding if id == "many" else []
    steps += [
        enter("#search", " TABLE "),
        enter("#search", ""),
        {"do": "hear", "type": "change", "media": 0},
        {"do": "back"},
        {"do": "tell", "type": "hashchange"},
    ]
    documents = {"integrity__colour": alarm, "integrity__hours": quiet}
    return Life(
        steps,
        network(overview(asked, asks="Each person is asked one of these."), **documents),
        MANUAL,
    )


def sign_in_and_out() -> Life:
    """Give a wrong token and a right one, lose it, leave, and come back by a link."""
    asked = overview([question("colour", "choice", None)])
    return Life(
        [
            VISIT,
            next_answers(
                {
                    "status": 401,
                    "json": {"type": "urn:rumor:problem:unauthorized", "detail": "no token"},
                }
            ),
            enter("#token", " wrong "),
            click("form button"),
            next_answers(refusal("forbidden", 403)),
            enter("#token", "other"),
            click("form button"),
            next_answers(refusal("unknown-collection", 404)),
            enter("#token", "third"),
            click("form button"),
            {"do": "set", "of": "browser", "offline": True},
            enter("#token", "fourth"),
            click("form button"),
            {"do": "set", "of": "browser", "offline": False},
            enter("#token", f" {TOKEN} "),
            click("form button"),
            click(".session button"),
            {"do": "hash", "to": f"#question=colour&from=2026-02-24&to=2026-02-25&token={TOKEN}"},
            VISIT,
            next_answers(None, refusal("unauthorized", 401)),
            {"do": "pass", "ms": 3000},
            click("#questions button"),
        ][:-1],
        network(asked),
        MANUAL,
    )


def choose_days() -> Life:
    """Look at some of the days, at all again, at how answers moved, and at two periods."""
    size = {"before": 0.111, "after": 0.222, "low": 0.05, "high": 0.17}
    moved: Document = {
        "changes": [
            {
                "quantity": q,
                "value": f"v{i}",
                "from": "2026-02-25",
                "before": 0.111 * i,
                "after": 0.222,
                "p_value": 0.5 / (i + 1),
                "adjusted": 0.9,
            }
            for i, q in enumerate(["mean", *["share"] * 8])
        ],
        "estimates": [
            {
                "period": p,
                "quantity": "share",
                "value": f"v{i}",
                "line": 0.1 * i - 0.35,
                "low": 0.05 * (2 - i),
                "high": 0.2 * i,
            }
            for i in range(1, 9)
            for p in ("2026-01-01..2026-01-31", "2026-02-24")
        ],
        "periods": ["2026-01-01..2026-01-31", "2026-02-24"],
        "notes": ["some days have few reports"],
        "watch": {
            "finding": "Checked every week since 2026-02-23: 2 of 8 values changed.",
            "promise": "If nothing changes, an alarm comes in at most 5% of stretches.",
            "changes": [
                {**size, "quantity": q, "value": f"v{i}", "from": "2026-03-09"}
                for i, q in enumerate(["share", "mean"])
            ],
        },
    }
    pair = {
        "first_estimate": 0.111,
        "second_estimate": 0.222,
        "difference": 0.111,
        "low": -0.05,
        "high": 0.25,
        "stderr": 0.03,
        "p_value": 0.0456,
        "adjusted": 0.078,
    }
    compared = {
        "level": 0.9,
        "looks": "any",
        "groups": {"2025-12-30..2026-02-14": 1, "2026-02-20..2026-02-20": 2},
        "tests": [{"test": "chi-squared", "statistic": 7.4766, "freedom": 10, "p_value": 0.6798}],
        "notes": ["another note."],
        "estimates": [
            {**pair, "quantity": q, "value": f"v{i}"}
            for i, q in enumerate(["share", "share", "mean"])
        ],
    }
    means = {
        "changes": [{**change, "quantity": "mean"} for change in moved["changes"][:2]],
        "periods": moved["periods"],
        "estimates": [{**row, "quantity": "mean", "value": "v0"} for row in moved["estimates"][:2]],
        "notes": [],
        "watch": {"finding": "No change so far.", "promise": "At most 5%.", "changes": []},
    }
    lone = {
        **compared,
        "looks": "one",
        "tests": [{"test": None}],
        "notes": [],
        "estimates": [{**pair, "quantity": "mean", "value": "v"}],
    }
    asked = overview([question("colour", "choice", None), question("hours", "number", [0.0, 12.0])])
    documents = {
        "trends__colour": moved,
        "trends__hours": means,
        "comparisons__colour": compared,
        "comparisons__hours": lone,
    }
    return Life(
        [
            SIGNED,
            enter("input[name=from]", "2026-02-24"),
            enter("input[name=to]", "2026-02-25"),
            click(".range button", "Show"),
            click(".range button", "Since the start"),
            click(".range button", "30 days"),
            click(".range button", "Against the period before"),
            enter("#sort", "change"),
            enter("#sort", "name"),
            click(".range button", "7 days"),
            click(".range button", "Against the period before"),
            click(".range button", "Since the start"),
            click("#looks"),
            {"do": "toggle", "at": "#compare"},
            click(".periods button", "Compare"),
            enter(".periods input", "2026-02-01", nth=2),
            enter(".periods input", "2026-02-28", nth=5),
            click(".periods button", "Compare"),
            click("#questions button", nth=1),
            {"do": "toggle", "at": "#trend"},
            {"do": "toggle", "at": "#trend"},
            click(".periods button", "Compare"),
            next_answers(refusal("too-few", 422)),
            click(".periods button", "Compare"),
            click("#questions button", nth=0),
            next_answers(None, None, refusal("too-few", 422)),
            click("#questions button", nth=1),
            {"do": "back"},
            {"do": "tell", "type": "hashchange"},
            *[click(".downloads button", nth=n) for n in range(4)],
            {"do": "pass", "ms": 10_000},
            next_answers({"status": 500, "json": {}}),
            click(".downloads button", nth=0),
        ],
        network(asked, **documents),
        MANUAL,
    )


def at_a_glance() -> Life:
    """Look at all questions at once, at one of them, and back; more reports come."""
    asked = [question(id, kind, range) for id, (kind, range, _) in QUESTIONS.items()]
    asked[3] |= {"reports": 0, "days": []}
    more = [{**each, "reports": 2 * each["reports"]} for each in asked[:2]]
    alarm = integrity(alarm=True, explanation="these reports look crafted")
    first = QUESTIONS["colour"][2]["estimates"][0]["value"]
    trend: Document = {
        "periods": ["2026-01-01..2026-01-31", "2026-02-24"],
        "changes": [
            {
                "quantity": "share",
                "value": first,
                "from": "2026-02-24",
                "before": 0.111,
                "after": 0.222,
                "p_value": 1e-5,
                "adjusted": 3e-5,
            }
        ],
        "estimates": [
            {"period": p, "quantity": "share", "value": first, "line": 0.1, "low": 0, "high": 0.3}
            for p in ("2026-01-01..2026-01-31", "2026-02-24")
        ],
        "notes": [],
        "watch": {"finding": "No change so far.", "promise": "At most 5%.", "changes": []},
    }
    documents = {"integrity__colour": alarm, "trends__colour": trend}
    return Life(
        [
            SIGNED,
            click("#all"),
            {"do": "set", "of": "network", **network(overview([*more, *asked[2:]]), **documents)},
            {"do": "pass", "ms": 3000},
            click(".glance button", nth=0),
            {"do": "back"},
            {"do": "tell", "type": "hashchange"},
            {"do": "set", "of": "browser", "offline": True},
            {"do": "pass", "ms": 3000},
        ],
        network(overview(asked), **documents),
        MANUAL,
    )


def news() -> Life:
    """Stay while reports come, the collector goes away, and estimates are refused."""

    def now(count: int, days: Sequence[Document] = DAYS[3:]) -> Document:
        asked = [
            question("colour", "choice", None, reports=count, days=days),
            question("hours", "number", [0.0, 12.0], reports=count + 1, days=days),
        ]
        known = [
            {"digest": OTHER, "name": "Before", "state": "closed"},
            {"digest": DIGEST, "name": "A survey", "state": "open"},
        ]
        return overview(asked, collections=known)

    def set_overview(document: Document) -> Step:
        return {"do": "set", "of": "network", "served": {**network(document)["served"]}}

    poll: Step = {"do": "pass", "ms": 3000}
    hidden = {"do": "set", "of": "document"}
    seen = {"do": "hear", "type": "visibilitychange"}
    return Life(
        [
            SIGNED,
            set_overview(now(1, DAYS[:1])),
            poll,
            {"do": "pass", "ms": 2999},
            {"do": "pass", "ms": 1},
            set_overview(now(1, DAYS[:2])),
            click("#questions button", nth=1),
            click("#questions button", nth=0),
            set_overview(now(100)),
            poll,
            set_overview(now(110)),
            poll,
            set_overview(now(111)),
            poll,
            {"do": "set", "of": "browser", "offline": True},
            poll,
            poll,
            {"do": "set", "of": "browser", "offline": False},
            poll,
            {**hidden, "hidden": True},
            set_overview(now(200)),
            poll,
            {**hidden, "hidden": False},
            seen,
            set_overview(now(300)),
            next_answers(None, refusal("too-few", 422), refusal("failed", 500)),
            poll,
            set_overview(now(301)),
            next_answers(None, None, {"status": 500, "json": {"detail": "it failed."}}),
            poll,
            poll,
            {"do": "enter", "at": ".collections select", "value": OTHER},
            next_answers(None, {"status": 401, "json": {}}),
            poll,
        ],
        network(now(0, [])),
        MANUAL,
    )


def at_the_edges() -> Life:
    """Look at as much as a control still goes without, or still takes, and at one more.

    Eight questions and nine, texts of 140 letters and 141, 200 values and 201; and days: a span
    of several together, two days and three.
    """
    days = [DAYS[:1], DAYS[1:3], DAYS[1:4]]
    found = {f"estimates__q{n}": estimate(809, rows(200 + n % 2)) for n in range(9)}
    asked = [
        question(f"q{n}", "choice", None, days=days[n % 3], text="n" * (140 + n % 2))
        for n in range(9)
    ]
    steps: list[Step] = []
    for count in (8, 9):
        known = network(overview(asked[:count]), **found)
        steps += [{"do": "set", "of": "network", **known}, SIGNED]
    steps += [click("#questions button", nth=n) for n in range(1, 6)]
    # An address may ask for a comparison with days before a lone span: there are none.
    steps.append({**SIGNED, "address": f"/#question=q0&against=1&token={TOKEN}"})
    return Life(steps, network(overview(asked), **found), MANUAL)


LIVES: Mapping[str, Callable[[], Life]] = {
    life.__name__.replace("_", "-"): life
    for life in (every_kind, at_a_glance, sign_in_and_out, choose_days, news, at_the_edges)
}
