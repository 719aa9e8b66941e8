"""Reports and withdrawal keys go to their own collector, whoever else uses the series name."""

from __future__ import annotations

import json
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection
from tests.client.test_scopes import FIRST, HERE, STRANGERS, THERE, contract, revised
from tests.impostor import Heard, Told, impostor, taken
from tests.javascript import parsed, steps

ANSWER: dict[str, object] = {"step": "prepare", "answers": {"mood": "well"}}
NAMESAKE = STRANGERS["another contact"].contract


def greedy(heard: Heard) -> Told:
    """Take every report, and have none of those that are to be taken back."""
    if heard.path != "/v1/withdrawals":
        return taken(heard)
    return 200, {"withdrawn": 0, "absent": len(json.loads(heard.body)["keys"])}, {}


def named(heard: list[Heard]) -> set[str]:
    """The contracts that requests with reports or keys named."""
    return {each.headers["rumor-collection"] for each in heard if each.method == "POST"}


def test_a_browser_shows_no_key_to_a_namesake() -> None:
    with impostor(greedy) as stranger:
        found = steps(
            parsed(FIRST, collector=HERE),
            parsed(NAMESAKE, collector=stranger.url, **{"as": "stranger"}),
            {"step": "open"},
            ANSWER,
            {**ANSWER, "of": "stranger"},
            {"step": "withdraw", "url": f"{stranger.url}/", "series": "s"},
            {"step": "sent", "series": "s"},
            {"step": "pending"},
        )
        assert named(stranger.heard) == {NAMESAKE.digest}
    assert (found[5]["absent"], found[5]["left"], found[6]) == (1, 0, 1)
    assert [each["contract"] for each in found[7]] == [FIRST.digest]


def test_a_browser_sends_nothing_to_whoever_says_that_it_revises() -> None:
    forged = revised(FIRST, contact="me@bad")
    with impostor(greedy) as stranger:
        found = steps(
            parsed(FIRST, collector=HERE),
            parsed(forged, collector=stranger.url, **{"as": "stranger"}),
            {"step": "open"},
            ANSWER,
            {"step": "send", "url": stranger.url, "of": "stranger"},
            {**ANSWER, "of": "stranger"},
            {"step": "send", "url": stranger.url, "of": "stranger"},
            {"step": "withdraw", "url": stranger.url},
            {"step": "pending"},
            {"step": "sent"},
        )
        assert named(stranger.heard) == {forged.digest}
    assert (found[4]["accepted"], found[6]["accepted"], found[7]["absent"]) == (0, 1, 1)
    assert [each["contract"] for each in found[8]] == [FIRST.digest]
    assert found[9] == 1


def test_a_collector_at_its_own_address_has_what_an_earlier_revision_made() -> None:
    """What waits goes out under a later contract of the same scope, and is taken back."""
    with impostor(greedy) as city:
        found = steps(
            parsed(FIRST, collector=city.url),
            parsed(revised(FIRST), collector=city.url, **{"as": "second"}),
            {"step": "open"},
            ANSWER,
            {**ANSWER, "of": "second"},
            {"step": "send", "url": city.url, "of": "second"},
            {"step": "withdraw", "url": city.url, "series": "s"},
            {"step": "sent"},
        )
    assert (found[5]["accepted"], found[6]["absent"], found[7]) == (2, 2, 0)


def test_inherited_reports_go_to_the_address_of_their_own_pin() -> None:
    """A contract from elsewhere inherits a scope; sent to the old address, both go."""
    forged = revised(FIRST, contact="me@bad")
    with impostor(greedy) as city:
        found = steps(
            parsed(FIRST, collector=city.url),
            parsed(forged, collector=THERE, **{"as": "moved"}),
            {"step": "open"},
            ANSWER,
            {**ANSWER, "of": "moved"},
            {"step": "send", "url": city.url, "of": "moved"},
        )
    assert found[5]["accepted"] == 2


def test_a_report_is_taken_back_where_it_arrived() -> None:
    """A contract that was met elsewhere, or nowhere in particular, as its collector is now."""
    for collector in (THERE, ""):
        with impostor(greedy) as city, impostor(greedy) as stranger:
            found = steps(
                parsed(FIRST, collector=collector),
                {"step": "open"},
                ANSWER,
                {"step": "send", "url": city.url},
                {"step": "withdraw", "url": stranger.url},
                {"step": "withdraw", "url": city.url},
                {"step": "sent"},
            )
            assert not named(stranger.heard)
        assert (found[3]["accepted"], found[5]["absent"], found[6]) == (1, 1, 0)


def test_a_copy_of_the_contract_gets_no_key_of_reports_made_elsewhere() -> None:
    with impostor(greedy) as copy:
        found = steps(
            parsed(FIRST, collector=HERE),
            parsed(FIRST, collector=copy.url, **{"as": "copy"}),
            {"step": "open"},
            ANSWER,
            {**ANSWER, "of": "copy"},
            {"step": "withdraw", "url": copy.url},
            {"step": "sent"},
        )
    assert (found[5]["absent"], found[6]) == (1, 1)


def test_keys_from_before_go_where_their_pin_is() -> None:
    """A state that a page of before kept: its rows name no collector."""
    with impostor(greedy) as city, impostor(greedy) as stranger:
        kept = steps(
            parsed(FIRST, collector=city.url),
            parsed(NAMESAKE, collector=stranger.url, **{"as": "stranger"}),
            {"step": "open"},
            ANSWER,
            {**ANSWER, "of": "stranger"},
            {"step": "state"},
        )[-1]
        for row in kept["sent"]:
            assert row.pop("collector") in (city.url, stranger.url)
        found = steps(
            {"step": "open", "state": kept},
            {"step": "withdraw", "url": stranger.url},
            {"step": "withdraw", "url": city.url},
            {"step": "sent"},
        )
        assert named(stranger.heard) == {NAMESAKE.digest}
        assert named(city.heard) == {FIRST.digest}
        assert (found[1]["absent"], found[2]["absent"], found[3]) == (1, 1, 0)
        # Of a ledger that knows no collectors at all, anybody may be asked.
        for pin in kept["pins"]:
            del pin["collector"], pin["contact"]
        found = steps({"step": "open", "state": kept}, {"step": "withdraw", "url": city.url})
        assert found[1]["absent"] == 2


def test_a_key_that_names_no_text_as_its_collector_is_damage() -> None:
    kept = steps(parsed(FIRST, collector=HERE), {"step": "open"}, ANSWER, {"step": "state"})[-1]
    kept["sent"][0]["collector"] = 7
    (said,) = steps({"step": "open", "state": kept})
    assert said["code"] == "state"


def test_python_clients_of_one_folder_keep_to_their_collectors(tmp_path: Path) -> None:
    forged = revised(FIRST, contact="me@bad")
    for other in (NAMESAKE, forged):
        folder = tmp_path / other.digest
        with impostor(greedy) as stranger:
            with Respondent(folder, collector=HERE) as device:
                device.prepare(FIRST, {"mood": "well"})
            with Client(stranger.url, folder, other, attempts=1) as client:
                assert client.flush().sent == 0
                assert client.answer({"mood": "well"}).sent == 1
                assert client.withdraw().absent == 1
            assert named(stranger.heard) == {other.digest}
        with impostor(greedy) as city, Client(city.url, folder, FIRST, attempts=1) as client:
            assert len(client.waiting()) == 1
            assert client.flush().sent == 1
            assert client.withdraw().absent == 1


def a_life(draw: random.Random, places: int) -> list[tuple[str, int]]:
    """Answers, sending and withdrawals at random, each with one of several collectors."""
    acts = ["prepare", "prepare", "send", "withdraw"]
    return [(draw.choice(acts), draw.randrange(places)) for _ in range(14)]


def test_nobody_ever_hears_of_another_ones_contract(tmp_path: Path) -> None:
    """Of random lives with four collectors of one name, in both languages."""
    first = contract(reports=9)
    of = [
        first,
        contract("me@bad", reports=9),
        revised(first, contact="me@worse"),
        revised(first, name="Not the city"),
    ]
    draw = random.Random(40)
    posted = 0
    for number in range(4):
        for language in ("Python", "JavaScript"):
            with ExitStack() as stack:
                met = [stack.enter_context(impostor(greedy)) for _ in of]
                life = a_life(draw, len(of))
                run = in_python if language == "Python" else in_javascript
                run(tmp_path / str(number), life, [each.url for each in met], of)
                for each, own in zip(met, of, strict=True):
                    assert named(each.heard) <= {own.digest}, (number, language, life)
                    posted += len([heard for heard in each.heard if heard.method == "POST"])
    assert posted > 20


def in_python(
    folder: Path, life: list[tuple[str, int]], urls: list[str], of: list[Collection]
) -> None:
    for act, place in life:
        with Client(urls[place], folder, of[place], attempts=1) as client:
            if act == "prepare":
                client._respondent.prepare(of[place], {"mood": "well"})
            elif act == "send":
                client.flush()
            else:
                client.withdraw()


def in_javascript(
    folder: Path, life: list[tuple[str, int]], urls: list[str], of: list[Collection]
) -> None:
    todo: list[dict[str, Any]] = [
        parsed(each, collector=url, **{"as": url}) for each, url in zip(of, urls, strict=True)
    ]
    todo.append({"step": "open"})
    for act, place in life:
        todo.append({**ANSWER, "step": act, "url": urls[place], "of": urls[place], "series": "s"})
    steps(*todo)
