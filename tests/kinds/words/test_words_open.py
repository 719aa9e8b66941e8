"""Open words from the question to what is found, and what stays without a name."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.kinds.planning.planned import BudgetSpec, Size
from rumor.kinds.simulation import SimulationSettings
from rumor.kinds.words.estimate import decode_open
from rumor.kinds.words.plan import PlannedWords
from rumor.kinds.words.question import WordsQuestion
from rumor.kinds.words.simulate import simulate_open
from rumor.mechanisms.open_words.open_words import OpenWords

ENGINES = {"duck": 9000, "fox": 5000, "owl": 3000, "heron": 2000, "lynx": 1000}


# One emoji to people, seven code points, 195 bits in the code for Latin text.
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
FOUR = {"length": 4, "rows": [[1, "a"], [2, "b"]]}


def collection(**question: Any) -> Collection:
    asked = {"id": "asked", "kind": "words", "epsilon": 4.0, "longest": 12, **question}
    base = {"name": "Law", "series": "law", "contact": "a@b.example"}
    return Collection.resolve({**base, "questions": [asked]})


def mechanism(**question: Any) -> OpenWords:
    made = collection(**question).question("asked").mechanism
    assert isinstance(made, OpenWords)
    return made


def crowd(asked: OpenWords, held: dict[str, int], seed: int) -> rumor.Summary:
    words = list(held)
    codes = np.repeat(np.arange(len(words)), list(held.values()))
    reports = asked.privatize_coded(words, codes, random=rumor.Seeded(seed))
    return rumor.Summary.empty(asked).update(reports)


def test_a_text_with_open_words_is_of_this_kind() -> None:
    text = collection(kind="text", words="open")
    assert text.question("asked").kind == "words"
    assert text.digest == collection().digest
    listed = {"id": "asked", "kind": "text", "epsilon": 4.0}
    base = {"name": "Law", "series": "law", "contact": "a@b.example"}
    plain = Collection.resolve({**base, "questions": [listed]})
    said = Collection.resolve({**base, "questions": [{**listed, "words": "listed"}]})
    assert plain.digest == said.digest
    assert plain.question("asked").mechanism.name == "rappor"


def test_an_emoji_that_people_see_as_one_is_found_where_there_is_room_for_it() -> None:
    """A family of four: 20 letters, the usual length, have 133 bits, and it takes 195."""
    held = {FAMILY: 6000, "duck": 9000, "fox": 5000}
    wishes: list[tuple[dict[str, Any], bool]] = [
        ({"longest": 20}, False),
        ({"fits": [FAMILY]}, True),
    ]
    for wish, named in wishes:
        asked = mechanism(**wish)
        result = decode_open(crowd(asked, held, 5))
        assert {"duck", "fox"} <= set(result.found())
        assert (FAMILY in result.found()) == named
        assert bool(asked.notes(FAMILY)) != named, "a person is told"
        assert asked.notes("duck") == ()
    assert result.found()[FAMILY] == pytest.approx(0.3, abs=0.05)


def test_room_for_words_that_fit_anyway_changes_no_contract() -> None:
    assert collection(fits=["duck", "heron"]).digest == collection().digest
    assert collection(fits=[]).digest == collection().digest
    assert collection(fits=[FAMILY]).digest != collection().digest


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"words": "shut"}, "words must be one of open"),
        ({"kind": "text", "words": "shut"}, "words must be one of listed, open"),
        ({"longest": 0}, "longest must be an integer from 1 to 256; got 0"),
        ({"typical": 40}, "typical must be an integer from 1 to 12; got 40"),
        ({"code": "morse"}, "code must be one of latin, utf-8, url or a .json file; got 'morse'"),
        ({"code": 5}, "code must be a name, a file or a list of rows; got 5"),
        ({"code": [[1, "a"], [2, "b"]]}, 'a code must have an end mark, the symbol ""'),
        ({"code": [[1, "a", "b", ""]]}, "must be prefix-free"),
        (
            {"length": 6},
            "have 6 characters, longest and typical must be left out; got 12",
        ),
        ({"longest": None, "length": 0}, "length must be an integer from 1 to 256; got 0"),
        ({"length": 5, "code": FOUR}, "length must be that of the code, 4; got 5"),
        ({"fits": "duck"}, "fits must be a list of words, each of them a text; got 'duck'"),
        ({"fits": [""]}, "fits must be a list of words, each of them a text; got"),
        ({"fits": ["z" * 90]}, "must take at most 441 bits in the code; got"),
        ({"fits": ["zebra"], "code": [[1, "a"], [2, "b", ""]]}, "able to write every word of fits"),
        ({"epsilon": -1}, "epsilon must be a number above 0"),
        ({"bits": 64}, "bits"),
    ],
)
def test_what_cannot_be_asked_is_said(wish: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        collection(**wish)
    assert sentence in str(refused.value)


def test_a_code_of_ones_own_comes_from_a_file(tmp_path: Path) -> None:
    rows = [[2, "", "a", "b"], [3, "c"]]
    (tmp_path / "own.json").write_text(json.dumps(rows))
    own = mechanism(code=str(tmp_path / "own.json"))
    assert own == mechanism(code=rows)
    with pytest.raises(InputError):
        mechanism(code=str(tmp_path / "missing.json"))


def test_words_of_one_length_are_asked_for_by_it(tmp_path: Path) -> None:
    asked = mechanism(longest=None, length=4)
    assert asked.code.length == 4
    assert asked.code.end_bits == 0
    assert OpenWords.from_parameters(asked.parameters()) == asked
    assert mechanism(longest=None, code=FOUR) == mechanism(longest=None, length=4, code=FOUR)
    (tmp_path / "own.json").write_text(json.dumps(FOUR["rows"]))
    assert mechanism(longest=None, length=4, code=str(tmp_path / "own.json")).code.length == 4
    assert (
        asked.stems.fingerprints("heron") == [asked.stems.word_fingerprint("heron")] * asked.levels
    )
    found = rumor.estimate(asked, crowd(asked, {**ENGINES, "hare": 2000}, 3))
    assert set(found.values) == {"duck", "lynx", "hare"}
    assert "a word of 4 characters" in WordsQuestion().hint(asked)


def test_words_are_found_without_a_list() -> None:
    asked = mechanism()
    found = rumor.estimate(asked, crowd(asked, ENGINES, 3))
    assert set(found.values) == set(ENGINES)
    # Words that 5 in a hundred or more of 20,000 hold are ten standard errors above nothing.
    for word, share, error in zip(found.values, found.unbiased, found.stderr, strict=True):
        assert abs(share - ENGINES[str(word)] / 20_000) < 4 * error
    assert (found.p_value < 1e-3).all()
    assert found.found().keys() == set(ENGINES)
    assert "5 words found; " in found.table()
    told = found.to_dict()
    assert told["detected"] == 5
    assert told["looked_at"] > 1000  # type: ignore[operator]
    # Found words are covered as chosen ones: below, more is allowed for.
    plain, shown = found.columns(order="given"), found.columns(order="estimate")
    lows = dict(zip(plain["value"], plain["low"], strict=True))
    for value, low in zip(shown["value"], shown["low"], strict=True):
        assert low <= lows[value]  # type: ignore[operator]


@pytest.mark.slow
def test_listed_words_are_looked_for_in_the_same_reports() -> None:
    asked = mechanism()
    rare = {**ENGINES, "wren": 250}
    summary = crowd(asked, rare, 5)
    grown = decode_open(summary)
    both = decode_open(
        summary, candidates=["wren", "duck", "crow", "kite", "a word too long to name"]
    )
    assert "wren" not in grown.values
    assert "wren" in both.values
    assert not {"crow", "kite"} & set(both.values)
    assert set(ENGINES) <= set(both.values)
    assert both.looked_for == 4, "duck was grown already"
    assert "4 from --candidates" in both.table()
    with pytest.raises(InputError, match="level must be"):
        decode_open(summary, level=1.5)


def test_words_too_long_to_be_named_are_counted() -> None:
    asked = mechanism(longest=4)
    held = {"a very long word that nobody can be told of": 12_000, "duck": 8_000}
    found = rumor.estimate(asked, crowd(asked, held, 2))
    assert list(found.values) == ["duck"]
    assert 0.4 < found.longer <= 0.6
    assert "too long to be named" in found.table()
    assert found.other == pytest.approx(1 - found.frequency.sum())


@pytest.mark.slow
def test_a_dry_run_tells_what_would_be_found(tmp_path: Path) -> None:
    asked = mechanism()
    done = simulate_open(asked, Counter(ENGINES), SimulationSettings(2, random=rumor.Seeded(3)))
    assert (done.people, done.trials) == (20_000, 2)
    # One word in twenty may be false: of six found in a trial, seldom two.
    assert done.false_discoveries <= 1 / 6
    assert list(done.values)[:2] == ["duck", "fox"]
    assert done.found[:3].tolist() == [1.0, 1.0, 1.0]
    assert done.named > 0.9
    assert "held by nobody" in done.table()
    assert done.to_dict()["named"] == done.named
    done.plot(tmp_path / "words.svg")
    assert (tmp_path / "words.svg").read_text().startswith("<svg")


def test_a_plan_says_what_is_found_by_length() -> None:
    plan = PlannedWords(Size())
    (made,) = plan.candidates(BudgetSpec(4.0))
    few, many = (plan.detectable(made.mechanism, n) for n in (20_000, 2_000_000))
    # Errors fall with the square root, thresholds stay: a hundred times the people, a tenth.
    assert few / many == pytest.approx(10, rel=0.25)
    fakes, note = plan.notes(made.mechanism, 20_000)
    assert fakes.startswith("Fakes who are ")
    for length in (4, 7, 12):
        assert f"{length} letters" in note


@pytest.mark.slow
def test_the_error_of_a_planned_word_is_as_foretold() -> None:
    """Over 40 crowds a standard deviation is known to 11 %: four of those."""
    plan = PlannedWords(Size())
    (made,) = plan.candidates(BudgetSpec(4.0))
    told, seen = plan.simulate(made.mechanism, 20_000, 40, 7, None).linear
    assert seen == pytest.approx(told, rel=0.45)


def test_files_and_candidates_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract, answers, reports = (tmp_path / n for n in ("c.json", "a.csv", "r.parquet"))
    collection().save(contract)
    people = [word for word, number in ENGINES.items() for _ in range(number // 2)]
    answers.write_text("asked\n" + "\n".join(people) + "\n")
    (tmp_path / "list.txt").write_text("duck\nwren\n")
    seed = ["--seed", "4"]
    assert main(["privatize", str(contract), str(answers), "-o", str(reports), *seed]) == 0
    capsys.readouterr()
    asked = ["estimate", str(contract), str(reports), "--json"]
    assert main(asked) == 0
    alone = json.loads(capsys.readouterr().out)
    assert {row["value"] for row in alone["estimates"]} >= {"duck", "fox", "owl"}
    assert main([*asked, "--candidates", str(tmp_path / "list.txt")]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["candidates"] == alone["candidates"] + 1
