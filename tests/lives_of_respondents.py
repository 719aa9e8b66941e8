"""What people do on the answer page and with the element, for transcripts (tests/pages.py)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from rumor.contract.collection import Collection, Question
from rumor.contract.issuing import key_name
from rumor.core.blind_rsa import EXPONENT, SecretKey
from rumor.core.canonical import digest
from rumor.kinds import KINDS
from rumor.mechanisms import PrivKVM
from rumor.privacy.loss import series_ceiling
from tests.everything import every_mechanism
from tests.issuers import KEYS, blind_collection
from tests.javascript import collection
from tests.pages import NOW, Life, Step, served
from tests.vectors.make_device import RELAY

INVITATION = "rumor-invitation-AAECAwQFBgcICQoLDA0OD9_G"
OTHER_INVITATION = "rumor-invitation-8PHy8_T19vf4-fr7_P3-_8IU"
BOUND_INVITATION = "rumor-bound-invitation-ZGVmZ2hpamtsbW5vcHFyc2Ri"
LABELS = [f"label {i}" for i in range(70)]
TURN = 6 * 3_600_000  # of six hours, in milliseconds
COIN = {"kind": "choice", "labels": ["red", "blue"], "epsilon": 1.0}
TWICE = {**COIN, "mechanism": "randomized-response", "reports_per_person": 2}
MOOD: dict[str, object] = {
    "kind": "choice",
    "labels": ["well", "so so", "unwell"],
    "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75},
    "reports_per_person": 30,
}
# Shapes of controls beyond the example of their kind.
SHAPES: Mapping[str, Mapping[str, object]] = {
    "numbered": {"kind": "choice", "domain": 5, "epsilon": 1.0},
    "listed": {"kind": "choice", "labels": LABELS[:13], "epsilon": 1.0},
    "searched": {
        "kind": "choice",
        "labels": [label.title() if i % 2 else label for i, label in enumerate(LABELS)],
        "epsilon": 1.0,
    },
    "buttons": {"kind": "choice", "labels": LABELS[:12], "epsilon": 1.0},
    "longest-list": {"kind": "choice", "labels": LABELS[:60], "epsilon": 1.0},
    "years": {"kind": "ordered", "low": -0.5, "high": 9.5, "bins": 10, "epsilon": 1.0},
    "grades": {"kind": "ordered", "labels": ["bad", "fair", "good"], "epsilon": 1.0},
    "scale": {"kind": "ordered", "labels": LABELS[:12], "epsilon": 1.0},
    "long-scale": {"kind": "ordered", "labels": [f"step {i}" for i in range(101)], "epsilon": 1.0},
    "options": {"kind": "set", "domain": 3, "epsilon": 1.0},
    "habits": {"kind": "keyvalue", "keys": 2, "low": -1, "high": 3, "epsilon": 1.0},
    "code": {"kind": "words", "code": "latin", "length": 4, "epsilon": 4.0},
}


def visit(page: str = "answer", address: str = "/answer") -> Step:
    return {"do": "visit", "page": page, "address": address}


def click(at: str, text: str | None = None, nth: int = 0) -> Step:
    return {"do": "click", "at": at, "nth": nth, **({} if text is None else {"text": text})}


def enter(at: str, value: str, nth: int = 0) -> Step:
    return {"do": "enter", "at": at, "value": value, "nth": nth}


def pick(question: str, label: str) -> Step:
    """Choose a label of a question by its button."""
    return click(f"[data-question={question}] input[value='{label}']")


def next_answers(*answers: Mapping[str, object] | None) -> Step:
    return {"do": "set", "of": "network", "next": list(answers)}


def refusal(kind: str, status: int = 403, **more: object) -> dict[str, object]:
    return {
        "status": status,
        "json": {"type": f"urn:rumor:problem:{kind}", "detail": f"no: {kind}", **more},
    }


GO, BACK = click("#go"), {"do": "back"}


def control_questions() -> Collection:
    """Return a collection with the example of every kind, and every further shape of a control."""
    examples = {f"kind-{kind.name}": (kind.name, kind.example().spec) for kind in KINDS.values()}
    return collection(
        *({"id": id, "kind": kind, **wish} for id, (kind, wish) in examples.items()),
        *({"id": id, **wish} for id, wish in SHAPES.items()),
    )


def every_control(some: Sequence[Question]) -> Life:
    """Type everything into the controls of questions, and see what an answer would become."""
    asked = dataclasses.replace(control_questions(), questions=tuple(some))
    steps = [visit()]
    for question in some:
        place = f"[data-question={question.id}]"
        steps += [{"do": "probe", "at": f"{place} .control"}, click(f"{place} .quiet", "twenty")]
    # What is wrong is told, one after the other, until everything is right.
    last = {"kind-number": "3", "numbered": "3", "long-scale": "step 3"}
    mine = {question.id: last[question.id] for question in some if question.id in last}
    steps += [enter(f"[data-question={id}] input", "x") for id in mine]
    for id, value in mine.items():
        steps += [GO, enter(f"[data-question={id}] input", value)]
    return Life([*steps, GO], served(asked))


def every_report(some: Sequence[Question]) -> Life:
    """Answer questions, look at who else could have sent each report, send, take back."""
    asked = dataclasses.replace(every_mechanism(), questions=tuple(some))
    places = [f"[data-question={question.id}]" for question in some]
    steps = [visit(), *({"do": "answer", "at": f"{place} .control"} for place in places), GO]
    steps += [{"do": "toggle", "at": f"{place} details"} for place in places]
    steps += [GO, click("#back-ask"), click("#back-no"), click("#back-ask"), click("#back-yes")]
    return Life(steps, served(asked))


def _in_parts(
    name: str, life: Callable[[Sequence[Question]], Life], asked: Collection, size: int
) -> dict[str, Callable[[], Life]]:
    """Return lives of a few questions each: a step costs as much as its page is long."""
    parts = [asked.questions[n : n + size] for n in range(0, len(asked.questions), size)]
    return {f"{name}-{n}": functools.partial(life, part) for n, part in enumerate(parts, 1)}


def again_and_again() -> Life:
    """Answer twice in two rounds, reload, come to the limit, and speak other languages."""
    asked = collection({**TWICE, "text": "Which colour?"}, {**MOOD, "id": "mood"}, COIN)
    language = [click("#languages a", nth=n) for n in (1, 2, 0)]
    return Life(
        [
            visit(address="/answer?lang=ja"),
            *language,
            pick("a", "red"),
            *language,
            GO,
            *language,
            GO,
            *language,
            click("[data-question=a] .quiet", "again"),
            pick("a", "blue"),
            click("[data-question=a] .quiet", "Clear"),
            pick("a", "blue"),
            pick("mood", "unwell"),
            GO,
            visit(address="/answer"),
            GO,
            visit(address="/answer"),
            pick("mood", "unwell"),
            pick("c", "red"),
            GO,
            {"do": "tab", "number": 0},
            GO,
        ],
        served(asked),
        {"languages": ["fr", "zh-Hant", "en"]},
    )


def what_goes_wrong() -> Life:
    """Meet refusals, silence and a network that goes away."""
    asked = collection({**COIN, "reports_per_person": 9}, {**TWICE, "id": "b"})
    send = [pick("a", "red"), GO]
    offline = {"do": "set", "of": "browser"}
    problem = {"status": 503, "headers": {"Retry-After": "7"}, "json": {}}
    again = click("[data-question=a] .quiet", "again")
    return Life(
        [
            visit(),
            *send,
            {**offline, "offline": True},
            GO,
            click("#retry"),
            {**offline, "offline": False},
            {"do": "tell", "type": "online"},
            again,
            *send,
            next_answers(problem, refusal("rate", 429), None),
            GO,
            again,
            *send,
            next_answers({**problem, "headers": {"Retry-After": "31"}}),
            GO,
            next_answers(refusal("closed")),
            click("#retry"),
            visit(),
            next_answers(refusal("unknown-collection", 404)),
            GO,
            next_answers(refusal("invalid-report", 400, refused=[0])),
            GO,
            next_answers({"json": {"accepted": 0, "duplicates": 1}}),
            GO,
            again,
            *send,
            next_answers({"json": {"accepted": 0, "duplicates": 0}}, {"json": []}, {"status": 201}),
            GO,
            next_answers(
                {"status": 500, "json": {"type": "urn:rumor:problem:failed", "detail": "x"}}, None
            ),
            click("#retry"),
            click("#back-ask"),
            {**offline, "offline": True},
            click("#back-yes"),
            {**offline, "offline": False},
            click("#back-ask"),
            next_answers(refusal("closed")),
            click("#back-yes"),
            click("#back-ask"),
            click("#back-yes"),
        ],
        served(asked),
    )


def nothing_to_answer() -> Life:
    """Open pages of collectors that are away, closed, or serve something else."""
    asked = collection(COIN)
    good = served(asked)["served"]["/v1/collection"]
    bad: list[object] = [
        {"status": 502},
        refusal("closed", 410),
        {**good, "open": False},
        {**good, "digest": "0" * 64},
        {**good, "contract": {**good["contract"], "rumor": 2}},
        [],
    ]
    set_ = [{"do": "set", "of": "network", "served": {"/v1/collection": each}} for each in bad]
    visits = [step for each in set_ for step in (each, visit())]
    answered = [visit(), pick("a", "red"), GO, GO]
    leaving = [click("#languages a", nth=1), click("#back-ask"), click("#back-yes")]
    return Life([*answered, *visits, click("#retry"), *leaving][:-1], served(asked))


def invited() -> Life:
    """Bring an invitation in the address, mistype it, and give another one after a refusal."""
    asked = dataclasses.replace(collection({**TWICE, "id": "a"}, COIN), admission="invited")
    return Life(
        [
            visit(address=f"/answer?lang=en#invitation={INVITATION}"),
            enter("#code", " rumor-invitation-nonsense "),
            pick("a", "red"),
            GO,
            enter("#code", f" {INVITATION} "),
            GO,
            next_answers(refusal("not-admitted")),
            GO,
            enter("#code", OTHER_INVITATION),
            GO,
        ],
        served(asked),
    )


def _exponent(secret: SecretKey) -> int:
    """Return the exponent that signs."""
    return pow(EXPONENT, -1, (secret.first - 1) * (secret.second - 1))


def blind() -> Life:
    """Have an issuer sign tokens, answer with them, and take a report back."""
    keys = {
        key_name(secret.public).hex(): {
            "modulus": f"{secret.public.modulus:0512x}",
            "exponent": f"{_exponent(secret):x}",
        }
        for secret in KEYS.secrets.values()
    }
    home = {"id": "home", "kind": "choice", "labels": ["blank", "news", "mail"], "epsilon": 1.0}
    questions = [{**COIN, "id": "colour"}, {**home, "reports_per_person": 5}]
    asked = blind_collection("https://issuer.example", questions=questions)
    elsewhere = dataclasses.replace(
        blind_collection("https://other.example", questions=questions),
        revision=2,
        previous=asked.digest,
    )
    return Life(
        [
            visit(),
            enter("#code", INVITATION),
            pick("colour", "red"),
            next_answers(refusal("not-admitted")),
            GO,
            {"do": "set", "of": "browser", "offline": True},
            GO,
            {"do": "set", "of": "browser", "offline": False},
            GO,
            GO,
            pick("home", "mail"),
            GO,
            next_answers(refusal("id-conflict")),
            GO,
            GO,
            click("#back-ask"),
            click("#back-yes"),
            enter("#code", BOUND_INVITATION),
            pick("home", "news"),
            GO,
            next_answers(refusal("not-admitted")),
            GO,
            enter("#code", OTHER_INVITATION),
            next_answers(refusal("not-admitted")),
            GO,
            {"do": "set", "of": "network", **served(elsewhere, issuer=keys)},
            visit(),
            enter("#code", INVITATION),
            pick("home", "news"),
            GO,
        ],
        served(asked, issuer=keys),
    )


def revised_with_consent() -> Life:
    """Be asked whether a revision may cost more: leave the question, say no, say yes."""
    first = collection({**TWICE, "text": "Colour?"})
    dearer = {**TWICE, "text": "Colour?", "epsilon": 2.0, "reports_per_person": 4}
    then = dataclasses.replace(collection(dearer), revision=2, previous=first.digest)
    other = dataclasses.replace(then, revision=3, previous="0" * 64, name="Follows nothing")
    older = dataclasses.replace(first, name="Another first")
    serve = [{"do": "set", "of": "network", **served(each)} for each in (then, other, older)]
    one = [pick("a", "red"), GO]
    return Life(
        [
            visit(),
            *one,
            GO,
            serve[0],
            visit(),
            *one,
            click("dialog button", "No"),
            *one,
            click("dialog button", "Yes"),
            GO,
            click("[data-question=a] .quiet", "again"),
            *one,
            GO,
            serve[1],
            visit(),
            serve[2],
            visit(),
        ],
        served(first),
    )


def over_time() -> Life:
    """Answer in periods and in rounds, and meet a series that may cost no more."""
    week = {**MOOD, "id": "week", "memo": "period", "period_days": 7, "reports_per_person": 3}
    day = {**week, "id": "day", "period_days": 1}
    apps = {"id": "apps", "kind": "keyvalue", "keys": ["Maps", "Mail"], "low": 0, "high": 6}
    rounds = {**apps, "epsilon": 2.0, "mechanism": {"name": "privkvm", "rounds": 3}}
    first = collection(week, day, rounds)
    mechanism = first.questions[2].mechanism
    assert isinstance(mechanism, PrivKVM)
    later = dataclasses.replace(
        first.questions[2], mechanism=mechanism.next([1.5, 3.0], parent=first.digest)
    )
    second = dataclasses.replace(
        first,
        questions=(*first.questions[:2], later),
        revision=2,
        previous=first.digest,
        series_epsilon=series_ceiling(first),
    )
    apps_yes = [
        click("[data-question=apps] input", nth=0),
        enter("[data-question=apps] input", "9", nth=1),
    ]
    small = dataclasses.replace(
        collection({**COIN, "reports_per_person": 9}, series="small"), series_epsilon=2.5
    )
    one = [pick("a", "red"), GO, GO]
    return Life(
        [
            visit(),
            pick("week", "well"),
            pick("day", "unwell"),
            *apps_yes,
            GO,
            GO,
            {"do": "set", "of": "browser", "now": 1772800000000},
            {"do": "set", "of": "network", **served(second)},
            visit(),
            pick("week", "unwell"),
            pick("day", "well"),
            *apps_yes,
            GO,
            GO,
            {"do": "set", "of": "network", **served(small)},
            visit(),
            *one,
            click("[data-question=a] .quiet", "again"),
            *one,
            visit(),
        ],
        served(first),
    )


def drawn_by_chance() -> Life:
    """Be asked some of many questions, on a day that comes, and that is over then."""
    asks = [
        {**COIN, "id": f"q{n}", "text": f"Question {n}?", "epsilon": 0.5 + n / 4} for n in range(5)
    ]
    base = collection(*asks)
    contracts: list[Collection] = []
    for ask in (
        {"questions": 2},
        {"days": 3, "starts": "2026-03-03"},
        {"questions": 1, "days": 900},
    ):
        wish = {
            "name": "A test",
            "series": f"s{len(contracts)}",
            "contact": "me@example.org",
            "questions": asks,
            "ask": ask,
        }
        contracts.append(Collection.resolve(wish))
    steps: list[Step] = []
    for contract in contracts:
        steps += [{"do": "set", "of": "network", **served(contract)}, visit()]
    steps += [steps[0], visit(), click("input"), GO, GO, visit()]
    for day in (2, 3, 4):
        now = 1772409600000 + 86_400_000 * (day - 2) + 5_000_000
        steps += [{"do": "set", "of": "browser", "now": now}, steps[2], visit()]
        steps += [click("input"), GO, GO] * (day == 3)  # the day that this person drew
    return Life(steps, served(base))


def through_a_relay() -> Life:
    """Send through a relay, in turns, alone and after a pause; come too early and too late."""
    secret = ec.derive_private_key(200, ec.SECP256R1())
    gateway = {
        "secret": f"{secret.private_numbers().private_value:064x}",
        "point": str(RELAY["key"]),
    }
    questions = [
        {**COIN, "id": "a", "reports_per_person": 9},
        {**COIN, "id": "b", "reports_per_person": 9},
    ]
    wish = {
        "name": "A test",
        "series": "relayed",
        "contact": "me@example.org",
        "questions": questions,
    }
    turns = Collection.resolve({**wish, "relay": {**RELAY, "turn_hours": 6}})
    plain = Collection.resolve({**wish, "series": "plain", "relay": RELAY})
    quick = Collection.resolve({**wish, "series": "quick", "relay": {**RELAY, "turn_hours": 1}})
    # One person could fill a batch: nobody makes such a contract any more.
    contract: dict[str, Any] = {**plain.contract(), "series": "unsafe"}
    contract["relay"] = {**RELAY, "crowd": 5}
    unsafe = {"contract": contract, "digest": digest(contract), "open": True}
    one = [pick("a", "red"), pick("b", "blue"), GO]
    return Life(
        [
            visit(),
            *one,
            next_answers({"status": 202, "json": {"taken": 0}}, None),
            GO,
            click("[data-question=a] .quiet", "again"),
            pick("a", "red"),
            GO,
            {"do": "set", "of": "browser", "now": 1772658000000},
            GO,
            GO,
            {"do": "set", "of": "browser", "now": 1772708000000},
            visit(),
            pick("a", "blue"),
            GO,
            {"do": "set", "of": "browser", "now": 1772758000000},
            GO,
            # One report is over, and another of the same person arrives.
            visit(),
            pick("a", "blue"),
            GO,
            {"do": "set", "of": "browser", "now": 1772858000000},
            visit("element", "/page"),
            {"do": "add", "tag": "rumor-question", "attributes": {"question": "b"}},
            click("input"),
            click("button.primary"),
            visit(),
            GO,
            # What one of two elements drew is shown by the other, where it is over when it is sent.
            visit("element", "/page"),
            {"do": "add", "tag": "rumor-question", "attributes": {"question": "a"}},
            {"do": "add", "tag": "rumor-question", "attributes": {"question": "a"}},
            {"do": "set", "of": "browser", "now": 82_081 * TURN + 1},
            click("input", nth=0),
            click("button.primary", nth=0),
            {"do": "set", "of": "browser", "now": 82_082 * TURN + 1},
            click("button.primary", nth=-1),
            click("input", nth=-1),
            click("button.primary", nth=-1),
            click("button.primary", nth=-1),
            {"do": "set", "of": "network", **served(plain)},
            visit(),
            *one,
            next_answers(
                None, {"status": 403, "json": {"type": "urn:rumor:problem:closed", "detail": "x"}}
            ),
            GO,
            visit(),
            GO,
            {"do": "set", "of": "network", **served(quick)},
            visit(),
            *one,
            GO,
            click("#back-ask"),
            click("#back-yes"),
            {"do": "set", "of": "network", "served": {"/v1/collection": unsafe}},
            visit(),
            *one,
        ],
        served(turns, gateway=gateway),
    )


def joined() -> Life:
    """See that two reports may be joined."""
    questions = [
        {**COIN, "id": id, "text": text, "mechanism": "randomized-response"}
        for id, text in (("a", "First?"), ("b", ""), ("c", "Third?"))
    ]
    wish = {
        "name": "A test",
        "series": "joined",
        "contact": "me@example.org",
        "questions": questions,
        "linked": ["a", "b"],
    }
    return Life([visit(), pick("b", "red"), GO, GO], served(Collection.resolve(wish)))


def on_a_phone() -> Life:
    """Go through questions a screen at a time: on, back, a mistake, a skip, Enter."""
    asked = collection(
        {"id": "n", "kind": "number", "low": 0, "high": 9, "epsilon": 1.0, "text": "How many?"},
        {**COIN, "id": "c"},
        {"id": "t", "kind": "text", "epsilon": 1.0},
        {"id": "s", "kind": "choice", "labels": LABELS, "epsilon": 1.0},
        {**COIN, "id": "last"},
    )
    key = {"do": "key", "key": "Enter"}
    return Life(
        [
            visit(),
            click("#begin"),
            click("#next"),
            BACK,
            enter("[data-question=n] input", "x"),
            {**key, "at": "[data-question=n] input"},
            enter("[data-question=n] input", "4"),
            {**key, "at": "[data-question=n] input", "key": "a"},
            {**key, "at": "[data-question=n] input"},
            {**key, "at": "[data-question=c] input"},
            click("#next"),
            click("#next"),
            {**key, "at": "[data-question=s] input"},
            enter("[data-question=s] input", "nobody"),
            click("#next"),
            enter("[data-question=s] input", "label 1"),
            click("#next"),
            pick("last", "red"),
            click("#previous"),
            enter("[data-question=s] input", "wrong"),
            {"do": "set", "of": "browser", "narrow": False},
            {"do": "hear", "type": "change", "media": 0},
            GO,
            {"do": "set", "of": "browser", "narrow": True},
            {"do": "hear", "type": "change", "media": 0},
            enter("[data-question=s] input", "label 2"),
            click("#next"),
            GO,
            GO,
            BACK,
            BACK,
        ],
        served(asked),
        {"narrow": True},
    )


def elements() -> Life:
    """Use elements on another site's page, two of one collection, and meet troubles."""
    asked = collection(
        {**TWICE, "text": "Colour?"},
        {"id": "n", "kind": "number", "low": 0, "high": 9, "epsilon": 1.0},
    )
    here = "https://collector.example"
    network = served(asked)
    network["served"] = {f"{here}/v1/collection": network["served"]["/v1/collection"]}

    def add(question: str, **attributes: str) -> Step:
        given = {"collector": f"{here}//", "question": question, **attributes}
        return {"do": "add", "tag": "rumor-question", "attributes": given}

    box, button = "rumor-question ", "button.primary"
    return Life(
        [
            visit("element", "https://site.example/page"),
            next_answers({"status": 500}),
            add("a"),
            click("button", "Try again"),
            add("n", lang="ja"),
            add("missing", digest="0" * 64),
            {
                "do": "attribute",
                "at": "rumor-question",
                "nth": 2,
                "name": "digest",
                "value": asked.digest,
            },
            click("input", nth=0),
            click(button, nth=0),
            {"do": "toggle", "at": "details"},
            {"do": "set", "of": "browser", "offline": True},
            click(button, nth=0),
            {"do": "set", "of": "browser", "offline": False},
            click(button, nth=0),
            click("button.quiet", "again"),
            click("input", nth=1),
            click(button, nth=0),
            next_answers(refusal("unknown-collection", 404)),
            click(button, nth=0),
            click(button, nth=0),
            enter("input[type=number]", "x"),
            click(button, nth=0),
            enter("input[type=number]", "12"),
            click(button, nth=0),
            next_answers(refusal("closed")),
            click(button, nth=0),
            {"do": "attribute", "at": box.strip(), "nth": 1, "name": "lang", "value": "zh"},
            visit("element", "https://site.example/other"),
            add("a"),
        ],
        network,
        {"origin": "https://site.example"},
    )


def elements_of_special_collections() -> Life:
    """Use elements where people are invited, asked by chance, joined and relayed."""
    here = "https://collector.example"
    questions = [{**COIN, "id": id, "text": id, "mechanism": "randomized-response"} for id in "abc"]
    wish = {"name": "A test", "contact": "me@example.org", "questions": questions}
    extra: Mapping[str, Mapping[str, object]] = {
        "invited": {"admission": "invited"},
        "some": {"ask": {"questions": 1}},
        "day": {"ask": {"days": 30, "starts": "2026-03-01"}},
        "joined": {"linked": ["b", "c"]},
        "relayed": {"relay": {**RELAY, "turn_hours": 24}},
    }
    documents = {
        f"{here}/{name}/v1/collection": served(
            Collection.resolve({**wish, "series": name, **more})
        )["served"]["/v1/collection"]
        for name, more in extra.items()
    }
    last = {"collector": f"{here}/joined", "question": "c"}
    steps = [visit("element", "https://site.example/page")]
    for name in extra:
        for id in "ab":
            given = {"collector": f"{here}/{name}", "question": id}
            steps.append({"do": "add", "tag": "rumor-question", "attributes": given})
    steps += [
        click("input[type=radio]", nth=0),
        click("button.primary", nth=0),
        enter("#code", f" {INVITATION} "),
        click("button.primary", nth=0),
        # Another element of a question that was answered meanwhile.
        {"do": "add", "tag": "rumor-question", "attributes": last},
        {"do": "add", "tag": "rumor-question", "attributes": last},
        click("input[type=radio]", nth=-2),
        click("button.primary", nth=-2),
        click("input[type=radio]", nth=-1),
        click("button.primary", nth=-1),
    ]
    return Life(steps, {"served": documents}, {"origin": "https://site.example", "now": NOW})


def page_as_one_file() -> Life:
    """The answer page on another origin: asked for a collector, told one, with what is pinned."""
    groups = {"country": ["DE", "FR", "other"]}
    wish = {"name": "A test", "series": "series", "contact": "me@example.org", "groups": groups}
    asked = Collection.resolve({**wish, "questions": [{"id": "coin", **COIN}]})
    there = "collector=https%3A%2F%2Fcollector.example%2Fours%2F"
    document = {"contract": asked.contract(), "digest": asked.digest, "open": True}
    address = "https://collector.example/ours/v1/collection"
    network = served(asked, served={address: document})
    network["served"]["/ours/v1/reports"] = {"accepted": 1, "duplicates": 0}
    network["served"]["/ours/v1/withdrawals"] = {"withdrawn": 1, "absent": 0}
    wrong = [
        "",
        "collector.example",
        "http://collector.example",
        "ftp://collector.example",
        "http://localhost.example:80",
    ]
    steps = [visit("file", "/page.html"), click("#open")]
    steps += [each for text in wrong for each in (enter("#collector", text), click("#open"))]
    steps += [
        {"do": "key", "at": "#collector", "key": "a"},
        enter("#collector", " http://localhost:8000/ "),
        {"do": "key", "at": "#collector", "key": "Enter"},
        visit("file", "/page.html#collector=http://127.0.0.1:8000//&digest=00&lang=zh"),
        visit("file", "/page.html#collector=https://user@[&lang=zh"),
        visit("file", f"/page.html?lang=ja#{there}&lang=zh"),
        visit("file", f"/page.html#{there}&digest={asked.digest}&group=country=FR"),
        click("#languages a", "zh"),
        click("#languages a", "en"),
        pick("coin", "red"),
        GO,
        GO,
        click("#back-ask"),
        click("#back-yes"),
        visit("file", f"/page.html#{there}&invitation={INVITATION}&digest={asked.digest}"),
        {"do": "hash", "to": "#collector=https://another.example"},
        {"do": "set", "of": "browser", "offline": True},
        visit("file", f"/page.html#{there}&lang=ja"),
        visit("answer", f"/answer#invitation={INVITATION}&group=country=DE"),
    ]
    return Life(steps, network)


LIVES: Mapping[str, Callable[[], Life]] = {
    **_in_parts("every-control", every_control, control_questions(), 4),
    **_in_parts("every-report", every_report, every_mechanism(), 8),
} | {
    life.__name__.replace("_", "-"): life
    for life in (
        again_and_again,
        what_goes_wrong,
        nothing_to_answer,
        invited,
        blind,
        revised_with_consent,
        over_time,
        drawn_by_chance,
        through_a_relay,
        joined,
        on_a_phone,
        elements,
        elements_of_special_collections,
        page_as_one_file,
    )
}
