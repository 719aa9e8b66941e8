"""Devices and browsers of older versions go on: nothing is lost, spent twice or made anew."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.contract.admission import admission_keys
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from tests.javascript import refusals, steps
from tests.needs import needs
from tests.old.kept import HERE, address_of, collector, copied, holds, quiet_relay, received

LEDGERS = sorted((HERE / "ledgers").glob("v*"))
STATES = sorted((HERE / "browser").glob("*.json"))
Row = tuple[str, str, int, int, float]


@dataclass(frozen=True)
class Old:
    """A copy of a device's folder, and what the version that made it said of it."""

    work: Path
    folder: Path
    told: dict[str, Any]

    @property
    def version(self) -> int:
        return int(self.told["version"])

    @property
    def device(self) -> Path:
        return self.folder / "device"

    def contract(self, series: str) -> Collection:
        return Collection.load(self.folder / f"{series}.json")

    def opened(self, day: str | None = None, max_epsilon: float | None = None) -> Respondent:
        """The device by the present code, on the day on which it was made or another one."""
        today = datetime.date.fromisoformat(day or self.told["day"])
        return Respondent(self.device, max_epsilon=max_epsilon, today=lambda: today)

    def pending(self, series: str) -> dict[str, tuple[str, str]]:
        """By id, the question and the bytes of reports of a series that wait."""
        return {
            row["id"]: (row["question"], row["report"])
            for row in self.told["pending"]
            if row["contract"] == self.told["digests"][series]
        }


@pytest.fixture(params=LEDGERS, ids=lambda path: path.name)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Old:
    return Old(tmp_path, *copied(request.param, tmp_path / "old"))


def since(version: int) -> pytest.MarkDecorator:
    """Ledgers of this version and later ones: older ones knew nothing of such collections."""
    later = [path for path in LEDGERS if int(path.name.removeprefix("v")) >= version]
    return pytest.mark.parametrize("old", later, ids=lambda path: path.name, indirect=True)


def costs(person: Respondent) -> list[Row]:
    """What each question has cost."""
    return [(s.series, s.question, s.reports, s.values, s.epsilon) for s in person.spending()]


def same_costs(found: list[Row], expected: list[list[Any]]) -> None:
    """The same counts, and the same losses up to the rounding of a sum."""
    assert [row[:4] for row in found] == [tuple(row[:4]) for row in expected]
    assert [row[4] for row in found] == pytest.approx([row[4] for row in expected], rel=1e-12)


def test_there_is_a_ledger_of_every_version() -> None:
    assert [path.name for path in LEDGERS] == [f"v{number}" for number in range(1, 10)]


def test_all_that_a_device_knew_it_knows(old: Old) -> None:
    for _ in range(2):  # and once more, when it is of the newest version
        with old.opened() as person:
            same_costs(costs(person), old.told["spending"])
            assert person.spent == pytest.approx(old.told["spent"], rel=1e-12)
            assert [list(event) for event in person.events()] == old.told["events"]
            names = ("id", "contract", "question", "report", "token", "relay", "sealed")
            rows = [{name: getattr(each, name) for name in names} for each in person.pending()]
            assert [
                {name: v.hex() if isinstance(v, bytes) else v for name, v in row.items()}
                for row in rows
            ] == old.told["pending"]
            assert [
                [m.id.hex(), m.key.hex(), m.contract, m.question, m.number]
                for m in person.withdrawable()
            ] == old.told["made"]


def test_contracts_of_devices_have_their_digests(old: Old) -> None:
    for series, digest in old.told["digests"].items():
        assert old.contract(series).digest == digest


def test_one_more_answer_goes_on_from_the_old_ones(old: Old) -> None:
    one_more_answer(old, "plain")


@since(3)
def test_one_more_answer_of_a_period_goes_on_from_the_first(old: Old) -> None:
    one_more_answer(old, "weekly")


def one_more_answer(old: Old, series: str) -> None:
    """The permanent answer stands, its cost goes on, and the number of reports is limited."""
    contract, after = old.contract(series), old.told["after"][series]
    with old.opened() as person:
        before = {row[:2]: row[4] for row in costs(person)}
        (made,) = person.prepare(contract, {"habit": after["answer"]}, random=Seeded(1))
        found = {row[:2]: row for row in costs(person)}
        if old.version >= 3:
            assert made.report.hex() == after["report"]
            same_costs(list(found.values()), after["spending"])
        else:
            # Permanent answers were keyed otherwise: the next one is another, at its full price.
            own = before[series, "habit"] + old.told["epsilon"]["habit"]
            assert found[series, "habit"][4] == pytest.approx(own, rel=1e-12)
            assert person.spent == pytest.approx(old.told["spent"] + old.told["epsilon"]["habit"])
            assert found[series, "habit"][2] == 4
        assert person.pending()[-1].report == made.report
        most = contract.question("habit").reports_per_person
        for _ in range(most - found[series, "habit"][2]):
            person.prepare(contract, {"habit": "tea"})
        with pytest.raises(
            InputError, match=f"takes at most {most} reports of a person; got {most}"
        ):
            person.prepare(contract, {"habit": "tea"})


def test_what_was_spent_counts_towards_the_limit_of_a_device(old: Old) -> None:
    limit = old.told["spent"] + 0.5 * old.told["epsilon"]["colour"]
    with old.opened(max_epsilon=limit) as person:
        with pytest.raises(InputError, match="may spend at most epsilon"):
            person.prepare(old.contract("plain"), {"colour": "red"})
        same_costs(costs(person), old.told["spending"])
    with old.opened(max_epsilon=old.told["spent"] + 1.001) as person:
        assert len(person.prepare(old.contract("plain"), {"colour": "red"})) == 1


@since(3)
def test_a_series_is_held_to_the_contract_that_was_answered(old: Old) -> None:
    other = replace(old.contract("plain"), name="Another contract")
    with old.opened() as person:
        with pytest.raises(InputError, match="one contract of each revision"):
            person.prepare(other, {"colour": "red"})
        next_one = replace(other, revision=2, previous=old.told["digests"]["plain"])
        assert len(person.prepare(next_one, {"colour": "red"})) == 1
        # The ceiling is the first contract's, whatever a revision asks for: it leaves one report.
        more = replace(next_one.question("colour"), reports_per_person=50)
        greedy = replace(
            next_one,
            revision=3,
            previous=next_one.digest,
            questions=(more, next_one.question("habit")),
        )
        person.prepare(greedy, {"colour": "red"})
        with pytest.raises(InputError, match="cost at most epsilon"):
            person.prepare(greedy, {"colour": "red"})


@pytest.mark.parametrize("old", LEDGERS[:2], ids=lambda path: path.name, indirect=True)
def test_a_ledger_without_promises_takes_the_first_contract_as_it_is(old: Old) -> None:
    """What was spent counts; what was promised is what the next contract says."""
    other = replace(old.contract("plain"), name="Another contract")
    with old.opened() as person:
        assert len(person.prepare(other, {"colour": "red"})) == 1
        for contract in (old.contract("plain"), replace(other, name="A third contract")):
            with pytest.raises(InputError, match="one contract of each revision"):
                person.prepare(contract, {"colour": "red"})
        found = {row[:2]: row for row in costs(person)}
        reports = {tuple(row[:2]): row[2] for row in old.told["spending"]}
        assert found["plain", "colour"][2] == reports["plain", "colour"] + 1
        most = old.contract("plain").question("colour").reports_per_person
        for _ in range(most - found["plain", "colour"][2]):
            person.prepare(other, {"colour": "red"})
        with pytest.raises(InputError, match=f"takes at most {most} report"):
            person.prepare(other, {"colour": "red"})


@since(4)
@pytest.mark.parametrize("time", range(3))
def test_what_was_drawn_stays_drawn_under_a_new_secret(old: Old, time: int) -> None:
    """A draw that was lost would be made anew, and be the same one time in seventy."""
    drawn = old.told["asked"]
    with old.opened() as person:
        person.reset()
        found = person.assignment(old.contract("asked"))
    assert (list(found.questions), str(found.day)) == (drawn["questions"], drawn["day"])


@since(4)
def test_what_was_drawn_stays_drawn(old: Old) -> None:
    contract, drawn = old.contract("asked"), old.told["asked"]
    with old.opened() as person:
        found = person.assignment(contract)
        assert (list(found.questions), str(found.day)) == (drawn["questions"], drawn["day"])
    other = next(q.id for q in contract.questions if q.id not in drawn["questions"])
    answered, left = drawn["questions"]
    with old.opened(drawn["day"]) as person:
        with pytest.raises(InputError, match="was not drawn"):
            person.prepare(contract, {other: "red"})
        assert len(person.prepare(contract, {left: "red"})) == 1
        with pytest.raises(InputError, match="takes at most 1 report"):
            person.prepare(contract, {answered: "red"})


@pytest.fixture
def offline(old: Old) -> Iterator[Client]:
    """The device with the collector that it knows, which is away."""
    with address_of(old.told["collector"]) as listener:
        listener.close()
        with Client(old.told["collector"], old.device, attempts=1) as client:
            yield client


def test_what_waits_is_sent_and_can_be_taken_back(old: Old, offline: Client) -> None:
    """Without the collector, its contract is known; with it, the old bytes arrive."""
    contract, waiting = old.contract("plain"), old.pending("plain")
    assert offline.collection().digest == contract.digest
    assert {each.id.hex() for each in offline.waiting()} == set(waiting)
    with (
        collector(old.work, contract) as (url, store),
        Client(url, old.device, contract, attempts=1) as client,
    ):
        receipt = client.flush()
        assert (receipt.sent, receipt.waiting, receipt.problem) == (len(waiting), 0, None)
        assert received(store, contract) == waiting
        taken = client.withdraw()
        # One report was sent to a collector of that time; older ledgers keep no keys.
        kept = (len(waiting), 1) if old.version >= 3 else (0, 0)
        assert (taken.withdrawn, taken.absent, taken.left) == (*kept, 0)
        assert len(received(store, contract)) == len(waiting) - taken.withdrawn


@since(2)
def test_a_waiting_report_goes_out_with_its_invitation(old: Old) -> None:
    contract = old.contract("invited")
    with collector(old.work, contract) as (url, store):
        store.admit("invited", admission_keys(contract, old.told["invitation"]))
        with Client(
            url, old.device, contract, invitation=old.told["invitation"], attempts=1
        ) as client:
            assert client.flush().sent == 1
            assert received(store, contract) == old.pending("invited")
            assert client.answer({"colour": "red"}).sent == 1
        assert store.admissions("invited") == 0


@since(6)
def test_blind_tokens_that_were_signed_admit(old: Old) -> None:
    """One was spent on the report that waits, one is left; the issuer is not asked."""
    contract = old.contract("blind")
    with collector(old.work, contract) as (url, store):
        with Client(url, old.device, contract, attempts=1) as client:
            assert client.flush().sent == 1
            assert received(store, contract) == old.pending("blind")
            assert client.answer({"colour": "red"}).sent == 1
            with pytest.raises(InputError, match="takes at most 2 reports"):
                client.answer({"colour": "red"})
        assert len(received(store, contract)) == 2


@since(6)
def test_a_sealed_report_goes_to_its_relay_as_it_was_sealed(old: Old) -> None:
    contract = old.contract("relayed")
    (sealed,) = (row["sealed"] for row in old.told["pending"] if row["sealed"])
    with collector(old.work, contract) as (url, _), quiet_relay(old.work, contract) as relay:
        with Client(url, old.device, contract, attempts=1, delay=0) as client:
            assert client.flush().sent == 1
        assert holds(relay, bytes.fromhex(sealed))


@since(6)
def test_a_revision_without_the_relay_is_refused(old: Old) -> None:
    """From version 7 at once; before, once the relay was answered through again."""
    contract = old.contract("relayed")
    bare = replace(contract, relay=None, revision=2, previous=contract.digest)
    with old.opened() as person:
        if old.version < 7:
            person.prepare(contract, {"colour": "red"})
        with pytest.raises(InputError, match="must not weaken sender anonymity"):
            person.prepare(bare, {"colour": "red"})


@since(9)
def test_a_waiting_report_goes_out_with_its_groups(old: Old) -> None:
    contract = old.contract("grouped")
    with collector(old.work, contract) as (url, store):
        with Client(url, old.device, contract, attempts=1) as client:
            assert client.flush().sent == 1
            assert client.answer({"colour": "red"}, groups={"country": "DE"}).sent == 1
        assert received(store, contract).items() >= old.pending("grouped").items()
        entry = store.find(contract.digest)
        store.summarize()
        assert store.reports_by_stratum(entry, "colour") == {0: 1, 1: 1}


# --- Browsers -------------------------------------------------------------------------------


@pytest.fixture(params=STATES, ids=lambda path: path.stem)
def browser(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, Collection]]:
    """What a browser kept, what its version said of it, and the contracts that it answered."""
    needs("node")
    told = json.loads(request.param.read_text())
    paths = [p for p in (HERE / told["contracts"]).glob("*.json") if p.stem != "expected"]
    return told, {path.stem: Collection.load(path) for path in paths}


def parse_all(known: dict[str, Collection]) -> list[dict[str, object]]:
    """The steps that read contracts."""
    return [
        {"step": "parse", "contract": each.canonical().decode(), "as": series}
        for series, each in known.items()
    ]


def waiting(told: dict[str, Any], contract: Collection) -> dict[str, tuple[str, str]]:
    """By id, the question and the bytes of reports of a contract that wait in a browser."""
    rows = [row for row in told["state"]["pending"] if row["contract"] == contract.digest]
    return {row["id"]: (row["question"], row["report"]) for row in rows}


def test_there_is_a_state_of_every_version() -> None:
    versions = {json.loads(path.read_text())["state"]["rumor"] for path in STATES}
    assert versions == {1, 2}


def test_a_browser_goes_on(browser: tuple[dict[str, Any], dict[str, Collection]]) -> None:
    told, known = browser
    more: dict[str, object] = {"step": "prepare", "of": "plain", "answers": {"habit": "tea"}}
    asked: dict[str, object] = {"step": "drawn", "of": "asked"}
    todo: dict[str, dict[str, object]] = {
        "day": {"step": "day", "is": 20_773},
        "open": {"step": "open", "state": told["state"]},
        **{name: {"step": name} for name in ("spending", "spent", "pending")},
        **({"drawn": asked} if "asked" in known else {}),
        **{f"sent {series}": {"step": "sent", "series": series} for series in known},
        "thrifty": {
            "step": "open",
            "as": "thrifty",
            "store": "person",
            "maxEpsilon": told["spent"] + 0.5,
        },
        "too dear": {**more, "by": "thrifty", "answers": {"colour": "red"}},
        "more": more,
        "spending after": {"step": "spending"},
        "spent after": {"step": "spent"},
        "too many": more,
        **({"reset": {"step": "reset"}, "redrawn": asked} if "asked" in known else {}),
    }
    results = steps(*parse_all(known), *todo.values())[len(known) :]
    found = dict(zip(todo, results, strict=True))
    same_spending(found["spending"], told["spending"])
    assert found["spent"] == pytest.approx(told["spent"], rel=2e-12)
    names = ("id", "contract", "question", "report")
    waits = [{name: row[name] for name in names} for row in told["state"]["pending"]]
    assert found["pending"] == waits
    assert found.get("drawn") == found.get("redrawn") == told.get("drawn")
    kept = [row["series"] for row in told["state"].get("sent", [])]
    assert [found[f"sent {series}"] for series in known] == [kept.count(each) for each in known]
    assert "may spend at most epsilon" in found["too dear"]["error"]
    assert refusals([found["too many"]]) == [
        "question 'habit' takes at most 4 reports of a person; got 4 already"
    ]
    if told["state"]["rumor"] == 2:
        same_spending(found["spending after"], told["after"]["spending"])
        assert found["spent after"] == pytest.approx(told["after"]["spent"], rel=2e-12)
    else:
        # Keyed otherwise: the next answer is another one, at its full price.
        full = known["plain"].question("habit").mechanism.epsilon
        assert found["spent after"] == pytest.approx(told["spent"] + full, rel=2e-12)


def same_spending(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """The same counts; losses of version 1 were rounded to the nearest, and are a trifle more."""
    for one, other in zip(found, expected, strict=True):
        assert {**one, "epsilon": 0} == {**other, "epsilon": 0}
        assert one["epsilon"] == pytest.approx(other["epsilon"], rel=2e-12)


def test_a_browser_sends_what_waits(
    browser: tuple[dict[str, Any], dict[str, Collection]], tmp_path: Path
) -> None:
    told, known = browser
    contract = known["plain"]
    with collector(tmp_path, contract) as (url, store):
        found = steps(
            *parse_all(known),
            {"step": "open", "state": told["state"]},
            {"step": "send", "of": "plain", "url": url},
            {"step": "state"},
        )
        assert received(store, contract) == waiting(told, contract)
    outcome = found[-2]
    assert (outcome["accepted"], outcome["pending"]) == (len(waiting(told, contract)), 0)
    assert found[-1]["secret"] == told["state"]["secret"]


@pytest.mark.parametrize("name", ["v2", "v2-groups"])
def test_a_browser_sends_what_it_sealed_and_spends_its_tokens(name: str, tmp_path: Path) -> None:
    needs("node")
    told = json.loads((HERE / "browser" / f"{name}.json").read_text())
    names = ("relayed", "blind")
    known = {name: Collection.load(HERE / told["contracts"] / f"{name}.json") for name in names}
    (sealed,) = (row["sealed"] for row in told["state"]["pending"] if "sealed" in row)
    with (
        collector(tmp_path, known["blind"]) as (url, store),
        quiet_relay(tmp_path, known["relayed"]) as relay,
    ):
        found = steps(
            *parse_all(known),
            {"step": "open", "state": told["state"]},
            {"step": "send", "of": "relayed", "url": url, "delay": 0},
            {"step": "send", "of": "blind", "url": url},
            {"step": "prepare", "of": "blind", "answers": {"colour": "red"}},
            {"step": "send", "of": "blind", "url": url},
            {"step": "prepare", "of": "blind", "answers": {"colour": "red"}},
        )
        assert refusals(found[:-1]) == [None] * (len(found) - 1)
        assert refusals(found[-1:])[0] is not None
        assert holds(relay, bytes.fromhex(sealed))
        arrived = received(store, known["blind"])
        assert waiting(told, known["blind"]).items() <= arrived.items()
        assert len(arrived) == 2


def test_a_browser_sends_what_waits_with_its_groups(tmp_path: Path) -> None:
    needs("node")
    told = json.loads((HERE / "browser" / "v2-groups.json").read_text())
    contract = Collection.load(HERE / told["contracts"] / "grouped.json")
    with collector(tmp_path, contract) as (url, store):
        steps(
            *parse_all({"grouped": contract}),
            {"step": "open", "state": told["state"]},
            {"step": "send", "of": "grouped", "url": url},
        )
        assert received(store, contract) == waiting(told, contract)
        store.summarize()
        assert store.reports_by_stratum(store.find(contract.digest), "colour") == {1: 1}
