"""The interviewer's sheet says what the design is, in every language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.mechanisms.paper import DESIGNS
from rumor.privacy.statement.sheet import Sheet, sheet_words, sheets

CHANCES = {
    "warner": ({"truth": "2/3"}, "2 of 3"),
    "forced-response": ({"yes": "1/6", "no": "1/3"}, "1, 2-3 of 6"),
    "unrelated-question": ({"ask": "3/5", "yes": "1/12"}, "3, 1/12 of 5"),
    "crosswise": ({"yes": "1/4"}, "1/4"),
    "triangular": ({"yes": "1/4"}, "1/4"),
    "kuk": ({"yes": "4/5", "no": "1/10"}, "8, 1 of 10"),
    "mangat": ({"truth": "2/3"}, "2 of 3"),
}
LANGUAGES = ("en", "ja", "zh")


def asked(name: str, chances: dict[str, str]) -> Collection:
    mechanism = {"name": name, **chances}
    question = {
        "id": "copied",
        "kind": "choice",
        "text": "Did you copy <it>?",
        "labels": ["yes", "no"],
        "mechanism": mechanism,
    }
    head = {"name": "Term papers", "series": "papers", "contact": "a@b.example"}
    return Collection.resolve({**head, "questions": [question]})


def text_of(sheet: Sheet) -> str:
    return "\n".join(text for section in sheet.sections for text in section.paragraphs)


def test_the_languages_have_the_same_texts_with_the_same_places() -> None:
    places = {
        language: {key: sorted(re.findall(r"\{\w+\}", text)) for key, text in said.items()}
        for language, said in sheet_words().items()
    }
    assert tuple(places) == LANGUAGES
    assert places["ja"] == places["en"] == places["zh"]
    assert set(DESIGNS) <= set(places["en"])
    assert set(CHANCES) == set(DESIGNS)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", DESIGNS)
def test_the_numbers_of_the_design_are_on_the_sheet(name: str, language: str) -> None:
    chances, numbers = CHANCES[name]
    collection = asked(name, chances)
    (sheet,) = sheets(collection, [language])
    steps, (record,), why = (section.paragraphs for section in sheet.sections)
    found = re.findall(r"\d+(?:/\d+|-\d+)?", steps[0])
    assert sorted(found) == sorted(re.findall(r"\d+(?:/\d+|-\d+)?", numbers))
    design = collection.question().mechanism
    for word in design.spoken().labels or ():
        assert f"“{word}”" in record or f"「{word}」" in record
    said, heading = "\n".join(why), sheet.sections[-1].heading
    if design.warning is None:
        assert f"{design.epsilon:.4g}" in said
        assert heading == sheet_words()[language]["why"]
    else:
        assert heading == sheet_words()[language]["exposed"]
        assert "∞" not in said
        assert "inf" not in said.split()
        assert sheet_words()[language]["warning"].split("{")[0] in said


@pytest.mark.parametrize("name", ["crosswise", "triangular", "kuk"])
def test_words_of_a_design_are_said_in_the_language_and_typed_in_english(name: str) -> None:
    chances, _ = CHANCES[name]
    collection = asked(name, chances)
    words = collection.question().mechanism.spoken().labels
    assert words is not None
    for language in ("ja", "zh"):
        (sheet,) = sheets(collection, [language])
        steps, (record,), why = (section.paragraphs for section in sheet.sections)
        for word in words:
            own = sheet_words()[language][word]
            assert own != word
            assert own in steps[0]
            assert word not in steps[0]
            assert word not in "".join(why)
            assert re.search(f"[“「]{own}[”」].{{0,3}}[“「]{word}[”」]", record)
    (english,) = sheets(collection)
    assert "In the table" not in text_of(english)
    (own_labels,) = sheets(asked("warner", {"truth": "2/3"}), ["ja"])
    assert "表には" not in text_of(own_labels)


def test_a_die_with_one_face_has_its_own_words() -> None:
    (sheet,) = sheets(asked("forced-response", {"yes": "0", "no": "1/2"}))
    assert "1: say “no”. Any other: say your true answer." in text_of(sheet)
    assert "whoever says “yes” proves the answer" in text_of(sheet)


def test_the_command_writes_a_page_for_each_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked("crosswise", {"yes": "1/4"}).save("dice.json")
    line = ["statement", "dice.json", "--sheet", "s.html", "--language", "ja", "--language", "en"]
    assert main(line) == 0
    assert capsys.readouterr().out == "written: 's.html'\n"
    page = Path("s.html").read_text("utf-8")
    assert page.count('<section class="sheet spoken"') == 2
    assert '<html lang="ja">' in page
    assert "Did you copy &lt;it&gt;?" in page
    assert "<script" not in page
    assert "break-before: page" in page


def test_a_sheet_of_no_dice_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Path(__file__).parents[2] / "examples" / "browser.toml"
    monkeypatch.chdir(tmp_path)
    assert main(["statement", str(browser), "--sheet", "s.html", "--html", "h.html"]) == 2
    assert (
        "a sheet is for questions that are answered with dice or cards" in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []
