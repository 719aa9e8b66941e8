"""The statement says what the contract says, of every example, in every form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.privacy.promise import collection_promise
from rumor.privacy.statement.pdf import _broken, _pages, _thousandths_of_em, lines, pdf
from rumor.privacy.statement.registry import registry_entry
from rumor.privacy.statement.statement import Section, Statement, read_audit, statement, words

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
BROWSER = ROOT / "examples" / "browser.toml"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_question_its_cost_and_its_keeping_are_said(path: Path) -> None:
    collection = Collection.load(path)
    made, promise = statement(collection), collection_promise(collection)
    asked, stored, learned, _, checked = made.sections
    ids = [question.id for question in collection.questions]
    for section in (asked, stored, learned):
        assert sorted(", ".join(name for name, _ in section.facts).split(", ")) == sorted(ids)
    assert promise.in_words() in learned.paragraphs[0]
    for question in collection.questions:
        days = question.retention_days
        kept = next(text for names, text in stored.facts if question.id in names.split(", "))
        assert ("without a limit" if days is None else f"for {days:,} days") in kept
    assert ("contract", collection.digest) in checked.facts
    assert all(collection.digest in each.lines[-1] for each in made.consents)
    entry = json.loads(json.dumps(registry_entry(collection), allow_nan=False))
    assert [question["id"] for question in entry["questions"]] == ids
    assert entry["contract"]["digest"] == collection.digest


def test_the_languages_have_the_same_sentences_with_the_same_places() -> None:
    places = {
        language: {key: sorted(re.findall(r"\{\w+\}", text)) for key, text in said.items()}
        for language, said in words().items()
    }
    assert list(places) == ["en", "ja", "zh"]
    assert places["ja"] == places["en"] == places["zh"]
    pages = (ROOT / "src/rumor/client/js/view/words").glob("*.js")
    assert sorted(path.stem for path in pages) == list(places)


def test_a_consent_says_the_dearest_report_and_everything_together() -> None:
    collection = Collection.load(ROOT / "examples" / "words.toml")
    promise = collection_promise(collection)
    text = " ".join(statement(collection, languages=["en"]).consents[0].lines)
    assert f"(epsilon {max(each.one for each in promise.questions):.4g})" in text
    assert f"(epsilon {promise.most:,.4g} in all)" in text
    with pytest.raises(InputError, match="a language must be one of en, ja, zh"):
        statement(collection, languages=["de"])


def test_files_are_written_and_hold_no_markup_of_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "c.toml"
    text = BROWSER.read_text(encoding="utf-8").replace('"news"', '"<script>x</script>"')
    source.write_text(text, encoding="utf-8")
    page, sheet, entry = (tmp_path / f"s.{end}" for end in ("html", "pdf", "json"))
    args = ["--html", str(page), "--pdf", str(sheet), "--registry", str(entry)]
    assert main(["statement", str(source), *args]) == 0
    html = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;x" in html
    assert "<script" not in html
    assert "http" not in re.sub(r"http-equiv", "", html)
    assert [f'lang="{language}"' in html for language in ("ja", "zh")] == [True, True]
    assert "--accent" in html
    assert "@page { size: A4" in html
    assert sheet.read_bytes().startswith(b"%PDF")
    assert json.loads(entry.read_text())["model"] == "local"
    capsys.readouterr()
    assert main(["statement", str(source), "--pdf", str(tmp_path / "s.txt")]) == 2
    assert "must end in .pdf" in capsys.readouterr().err


def test_an_audit_is_taken_only_of_this_contract(tmp_path: Path) -> None:
    collection = Collection.load(BROWSER)
    path = tmp_path / "audit.json"
    asked = ["audit", str(BROWSER), "--samples", "1000", "--seed", "1"]
    assert main([*asked, "--certificate", str(path)]) == 0
    audit = read_audit(path, collection)
    made = statement(collection, audit=audit)
    assert "passed: the code was walked exactly" in made.sections[-1].paragraphs[0]
    said = made.to_text()
    assert "homepage, exact: claimed 1, found 1, pass" in said
    failed = statement(collection, audit={**audit, "passed": False}).to_text()
    assert "FAILED" in failed
    with pytest.raises(InputError, match="must be of this collection"):
        read_audit(path, Collection.load(ROOT / "examples" / "commute.toml"))
    for text in ("{}", "[", json.dumps({**audit, "samples": "many"})):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="must be a certificate as data"):
            read_audit(path, collection)


def test_lines_of_a_sheet_fit_and_lose_nothing() -> None:
    text = "Words of several lengths, " * 20 + "x" * 200 + "日本語の文章。" * 30
    made = list(_broken(text, 40_000))
    assert all(sum(map(_thousandths_of_em, line)) <= 40_000 for line in made)
    assert "".join(made).replace(" ", "") == text.replace(" ", "")


def test_a_pdf_is_a_page_or_more() -> None:
    short = statement(Collection.load(BROWSER), languages=["en"])
    assert pdf(short).count(b"/Type /Page ") == 1
    long = statement(Collection.load(ROOT / "examples" / "one-of-five.toml"))
    assert len(long.sections[1].facts) == 1  # what is true of all five is said once
    assert pdf(long).count(b"/Type /Page ") > 1
    assert b"/MediaBox [0 0 595.0 842.0]" in pdf(short)


def test_a_heading_never_stands_alone_at_the_foot() -> None:
    for count in range(30, 90):
        many = Section("Heading", ("text",) * count)
        made = Statement("Title", "Lead", (many, Section("Last", ("words",))))
        for page in _pages(lines(made)):
            assert not page[-1][1].is_bold
            heights = [height for height, _ in page]
            assert heights == sorted(heights, reverse=True)
            assert heights[-1] >= 46 + 24
