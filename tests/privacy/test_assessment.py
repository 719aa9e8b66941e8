"""An assessment says of each measure what the setting makes true, in three languages."""

from __future__ import annotations

import json
import math
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.privacy.statement.assessment import assessment_words, assessments, to_markdown
from rumor.privacy.statement.deployment import Deployment
from rumor.privacy.statement.pdf import pdf
from rumor.privacy.statement.statement import Statement
from tests.issuers import blind_collection

LANGUAGES = ("en", "ja", "zh")
ROOT = Path(__file__).parents[2]
KEY = (
    "04"
    + "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    + ("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
)
RELAY = {"url": "https://relay.example", "key": KEY, "crowd": 250, "days": 7}


def collection(**more: Any) -> Collection:
    """Resolve a collection of one question; `question` holds members of it."""
    asked = {"id": "one", "kind": "choice", "labels": ["x", "y"], "epsilon": 1.0}
    asked |= {"text": "Which?", **more.pop("question", {})}
    head = {"name": "Board", "series": "board", "contact": "a@example.org"}
    return Collection.resolve({**head, "questions": [asked], **more})


def by_hand(name: str = "warner", relay: Any = None, **chances: str) -> Collection:
    mechanism = {"name": name, **(chances or {"truth": "2/3"})}
    labels = {"labels": ["yes", "no"], "epsilon": None, "mechanism": mechanism}
    asked = {"id": "one", "kind": "choice", "text": "Which?", **labels}
    del asked["epsilon"]
    head = {"name": "Board", "series": "board", "contact": "a@example.org"}
    sent = {} if relay is None else {"relay": relay}
    return Collection.resolve({**head, **sent, "questions": [asked]})


def pattern(key: str, language: str) -> re.Pattern[str]:
    """Return a pattern of the sentence `key` with any parts."""
    pieces = re.split(r"\{\w+\}", assessment_words()[language][key])
    return re.compile(".+?".join(map(re.escape, pieces)))


def text_of(made: Statement) -> str:
    return made.to_text().replace("\n", " " if made.language == "en" else "")


def whole_text(made: Statement) -> str:
    """Return all texts, each on a line of its own."""
    texts = [made.title, made.lead]
    for section in made.sections:
        texts += [section.heading, *section.paragraphs]
        texts += [f"{name}\n{value}" for name, value in section.facts]
    return "\n".join(texts)


def keys_in(made: Statement) -> set[str]:
    """Return the sentences that an assessment has."""
    text = whole_text(made)
    keys = set(assessment_words()["en"]) - {"list"}
    return {key for key in keys if pattern(key, made.language).search(text)}


def said(settings: Collection, deployment: Deployment | None = None) -> set[str]:
    """Return the sentences of an assessment, the same in every language."""
    found = [keys_in(made) for made in assessments(settings, deployment, LANGUAGES)]
    assert found[0] == found[1] == found[2]
    return found[0]


def test_the_languages_have_the_same_sentences_with_the_same_places() -> None:
    places = {
        language: {key: sorted(re.findall(r"\{\w+\}", text)) for key, text in words.items()}
        for language, words in assessment_words().items()
    }
    assert tuple(places) == LANGUAGES
    assert places["ja"] == places["en"] == places["zh"]


PLAIN = collection(question={"retention_days": 30})

# Each setting: the sentences that it adds, and those that go.
SETTINGS: dict[str, tuple[Any, Deployment | None, set[str], set[str]]] = {
    "no retention": (collection(), None, {"kept_open"}, {"kept"}),
    "a relay": (
        collection(question={"retention_days": 30}, relay=RELAY),
        None,
        {"relay", "measure_relay"},
        {"no_relay", "remains_direct"},
    ),
    "invitations": (
        collection(question={"retention_days": 30}, admission="invited"),
        None,
        {"measure_invited", "measure_tokens"},
        {"measure_open", "measure_open_fake"},
    ),
    "groups": (
        collection(question={"retention_days": 30}, groups={"country": ["DE", "FR", "other"]}),
        None,
        {"groups", "measure_groups", "access_groups"},
        {"no_groups", "access"},
    ),
    "much epsilon": (
        collection(question={"retention_days": 30, "epsilon": 5.0}),
        None,
        {"remains_large"},
        set(),
    ),
    "a table": (
        PLAIN,
        Deployment(answers="table"),
        {
            *("table", "kept_files", "table_rights", "no_measure_series", "measure_table_fake"),
            *("no_measure_change", "remains_table"),
        },
        {
            *("device", "no_relay", "kept", "withdraw", "measure_series", "measure_open_fake"),
            *("measure_change", "remains_direct", "remains_device"),
        },
    ),
    "declarations": (
        PLAIN,
        Deployment(
            controller="An institute",
            purpose="Research",
            legal_basis="consent",
            place="Japan",
            recipients=("A university", "An archive"),
            address_days=7,
            backup_days=14,
        ),
        {
            *("controller", "purpose", "legal_basis", "place", "declared_recipients"),
            *("addresses", "backups"),
        },
        {
            *("controller_open", "purpose_open", "legal_basis_open", "place_open"),
            *("recipients_open", "addresses_open", "backups_open"),
        },
    ),
    "nothing kept": (
        PLAIN,
        Deployment(address_days=0, backup_days=0),
        {"no_addresses", "no_backups"},
        {"addresses_open", "backups_open"},
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_changes_its_sentences_and_no_others(name: str) -> None:
    settings, deployment, more, fewer = SETTINGS[name]
    before, after = said(PLAIN), said(settings, deployment)
    assert after - before == more
    assert before - after == fewer


def test_dice_have_their_own_sentences() -> None:
    found = said(by_hand())
    assert {"hand", "no_withdraw", "measure_hand_fake", "no_measure_series", "remains_hand"} < found
    assert not {"device", "withdraw", "no_relay", "measure_series", "measure_change"} & found
    assert "measure_answer" in found


def test_dice_that_devices_throw_go_through_a_relay() -> None:
    found = said(by_hand(relay=RELAY))
    assert {"device", "relay", "measure_relay", "withdraw"} < found
    assert not {"hand", "no_withdraw", "measure_hand_fake", "remains_hand"} & found


def test_a_design_that_proves_answers_claims_no_bound() -> None:
    found = said(by_hand("mangat"))
    promised = {"measure_answer", "measure_all", "measure_breach", "remains_large"}
    assert not promised & found
    needed = {"no_measure_answer", "no_measure_all", "no_measure_breach", "remains_proved"}
    assert needed < found


def test_blind_tokens_are_said() -> None:
    found = said(blind_collection("https://issuer.example"))
    assert {"issuer", "id_token", "measure_blind", "measure_tokens"} < found
    assert not {"id_random", "measure_open", "measure_invited"} & found
    assert not {"issuer", "id_token", "measure_blind"} & said(PLAIN)


def test_linked_reports_and_samples_of_questions_are_said() -> None:
    asked = [
        {"id": id, "kind": "choice", "labels": ["x", "y"], "epsilon": 1.0, "text": "Which?"}
        | {"mechanism": "randomized-response"}
        for id in ("one", "two")
    ]
    head = {"name": "Board", "series": "board", "contact": "a@example.org", "questions": asked}
    assert "linked" in said(Collection.resolve({**head, "linked": ["one", "two"]}))
    assert "ask_some" in said(Collection.resolve({**head, "ask": {"questions": 1}}))
    assert not {"linked", "ask_some"} & said(Collection.resolve(head))


def test_an_even_guess_is_never_rounded_down() -> None:
    for epsilon in (0.1, 1.0, 1.0986, 2.0, 3.3):
        made = assessments(collection(question={"epsilon": epsilon}))[0]
        [shown] = set(re.findall(r"at most ([0-9.]+)%", text_of(made)))
        assert float(shown) >= 100 * math.exp(epsilon) / (1 + math.exp(epsilon)) - 1e-9
        assert float(shown) <= 100 * math.exp(epsilon) / (1 + math.exp(epsilon)) + 0.1


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_every_example_has_all_sections_and_questions(path: Path) -> None:
    loaded = Collection.load(path)
    for made in assessments(loaded, None, LANGUAGES):
        assert len(made.sections) == 8
        assert [name for name, _ in made.sections[1].facts] == [q.id for q in loaded.questions]
        assert loaded.digest in made.lead
        assert "{" not in whole_text(made)


def test_markdown_has_no_markup_of_others() -> None:
    hostile = collection(name="# *x* <script>", question={"text": "[a](http://b) `c` | d"})
    text = to_markdown(assessments(hostile, Deployment(purpose="<b>x</b>\n# y"))[0])
    tokens = MarkdownIt("commonmark").parse(text)
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert kinds <= {"text", "text_special", "strong_open", "strong_close"}
    assert sum(token.type == "heading_open" for token in tokens) == 9


OPERATOR = """
controller = "An institute"
purpose = "Research"
recipients = ["A university"]
answers = "device"
address_days = 7
"""


def test_the_command_writes_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    PLAIN.save("c.json")
    Path("operator.toml").write_text(OPERATOR, encoding="utf-8")
    line = ["statement", "c.json", "--assessment", "--deployment", "operator.toml"]
    every = [option for language in LANGUAGES for option in ("--language", language)]
    assert main(line) == 0
    assert capsys.readouterr().out.startswith("# Board: data-protection impact assessment\n")
    assert main([*line, *every, "--html", "a.html", "--pdf", "a.pdf"]) == 0
    assert capsys.readouterr().out == "written: 'a.html', 'a.pdf'\n"
    page = Path("a.html").read_text("utf-8")
    assert re.findall(r'<section class="sheet" lang="(\w+)"', page) == list(LANGUAGES)
    assert "<script" not in page
    assert main([*line, "--json"]) == 0
    [data] = json.loads(capsys.readouterr().out)["assessments"]
    assert data["language"] == "en"
    assert len(data["sections"]) == 8


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("purpos = 'x'", "purpos"),
        ("purpose = 3", "purpose of a deployment must be a non-empty text; got 3"),
        ("recipients = 'x'", "recipients must be a list of texts; got 'x'"),
        ("recipients = [' ']", "recipients must be a list of texts"),
        ("address_days = -1", "address_days"),
        ("answers = 'phone'", "answers must be one of device, hand, table; got 'phone'"),
        ("x", "a deployment must be valid TOML"),
    ],
)
def test_a_deployment_that_says_something_else_is_refused(
    text: str, rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "operator.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(rule)):
        Deployment.load(path)


def test_answers_by_hand_need_dice() -> None:
    with pytest.raises(InputError, match="questions are all answered with dice or cards"):
        assessments(PLAIN, Deployment(answers="hand"))
    assert "hand" in said(by_hand(), Deployment(answers="hand"))
    assert "device" in said(by_hand(), Deployment(answers="device"))


def read_pdf(data: bytes) -> tuple[int, str]:
    """Return the number of pages and the text of a PDF of ours; check its table of objects."""
    start = int(data.rsplit(b"startxref\n", 1)[1].split(b"\n")[0])
    assert data[start:].startswith(b"xref\n0 ")
    count = int(data[start:].split(b"\n")[1].split()[1])
    rows = data[start:].split(b"\n")[3 : 2 + count]
    for number, row in enumerate(rows, 1):
        assert data[int(row[:10]) :].startswith(f"{number} 0 obj\n".encode())
    for length, body in re.findall(rb"/Length (\d+) >>\nstream\n(.*?)\nendstream", data, re.DOTALL):
        assert int(length) == len(body)
    text = ""
    for font, code in re.findall(rb"/F(\d) [\d.]+ Tf <([0-9a-f]*)> Tj", data):
        raw = bytes.fromhex(code.decode())
        text += raw.decode("cp1252" if font in b"01" else "utf-16-be")
    return len(re.findall(rb"/Type /Page ", data)), text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pdf_holds_every_letter_of_every_language(language: str) -> None:
    [made] = assessments(PLAIN, Deployment(purpose="調査 研究 Ω €"), [language])
    pages, text = read_pdf(pdf(made))
    assert pages >= 1
    squeezed = re.sub(r"\s", "", text)
    for section in made.sections:
        for paragraph in (section.heading, *section.paragraphs):
            assert re.sub(r"\s", "", paragraph) in re.sub(r"\d+/\d+(?=\D|$)", "", squeezed)
    data = pdf(made)
    assert f"/Lang ({language})".encode() in data
    far = b"/F3 " if language == "zh" else b"/F2 "
    other = b"/F2 " if language == "zh" else b"/F3 "
    drawn = data.split(b"stream", 1)[1]
    assert far in drawn
    assert other not in drawn


def test_a_long_pdf_has_pages_with_numbers() -> None:
    many = [
        {"id": f"q{i}", "kind": "choice", "labels": ["x", "y"], "epsilon": 1.0, "text": "w " * 300}
        for i in range(40)
    ]
    head = {"name": "Long", "series": "long", "contact": "a@example.org"}
    made = assessments(Collection.resolve({**head, "questions": many}))
    pages, text = read_pdf(pdf(*made))
    assert pages >= 2
    for number in range(1, pages + 1):
        assert f"{number} / {pages}" in text
    assert zlib.crc32(pdf(*made)) == zlib.crc32(pdf(*made))
