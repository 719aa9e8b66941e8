"""The device of one person: secret, ledger, permanent answers."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.client.ledger import Ledger
from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError
from rumor.core.secret import open_secret, read_secret
from rumor.mechanisms import BasicRappor, Mechanism, RandomizedResponse, Rappor

WORD = "a very sensitive wörd"


def collection(
    mechanism: Mechanism,
    *,
    reports: int = 10,
    series: str = "series",
    after: Collection | None = None,
) -> Collection:
    """A contract of one question; `after` is the one that it revises."""
    # A device needs the contract only; how TOML resolves to one is tested with the kinds.
    kind = "choice"
    question = Question("question", kind, "", mechanism, reports, None)
    contract = Collection("name", series, "nobody", (question,))
    return contract if after is None else revised(contract, after)


def revised(contract: Collection, after: Collection) -> Collection:
    """The same as a revision of another."""
    return dataclasses.replace(contract, revision=after.revision + 1, previous=after.digest)


def memoising(f: float = 0.5) -> Rappor:
    """Permanent bits are sent as they are, so a report shows them."""
    return Rappor(bits=64, hashes=2, cohorts=4, f=f, p=0, q=1, key=b"key")


@pytest.fixture(autouse=True)
def _contract_of_any_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hand-made collection above describe mechanisms of other kinds."""
    monkeypatch.setattr(Question, "contract", lambda self: {"mechanism": self.mechanism.describe()})


class TestSecret:
    def test_it_is_made_once_and_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        first, made = open_secret(tmp_path / "secret")
        again, made_again = open_secret(tmp_path / "secret")
        assert (made, made_again) == (True, False)
        assert first == again
        assert len(first) == 32
        assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
        assert [path.name for path in tmp_path.iterdir()] == ["secret"]

    def test_processes_that_start_at_once_agree(self, tmp_path: Path) -> None:
        with multiprocessing.get_context("spawn").Pool(4) as pool:
            found = pool.map(_open, [tmp_path / "secret"] * 16)
        assert len(set(found)) == 1

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            ("", "must begin with 'rumor secret 1'"),
            ("rumor secret 2\n" + "0" * 64 + "\n", "must be of version 1; .* says '2'"),
            ("rumor secret 1\n" + "0" * 63 + "\n", "64 hexadecimal digits; .* is damaged"),
            ("rumor secret 1\n" + "g" * 64 + "\n", "64 hexadecimal digits; .* is damaged"),
        ],
    )
    def test_a_damaged_one_is_refused(self, tmp_path: Path, content: str, sentence: str) -> None:
        file = tmp_path / "secret"
        file.write_text(content)
        file.chmod(0o600)
        with pytest.raises(rumor.InputError, match=sentence):
            read_secret(file)
        assert file.read_text() == content

    def test_one_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        open_secret(tmp_path / "secret")
        (tmp_path / "secret").chmod(0o640)
        with pytest.raises(rumor.InputError, match=r"owner only \(mode 600\); .* has mode 640"):
            rumor.Respondent(tmp_path)


def _open(path: Path) -> bytes:
    return open_secret(path)[0]


class TestPermanentAnswers:
    def test_they_outlive_restarts_and_revisions(self, tmp_path: Path) -> None:
        reports, contract = [], None
        for _ in range(3):
            contract = collection(memoising(), after=contract)
            with rumor.Respondent(tmp_path) as device:
                reports += [
                    envelope.report for envelope in device.prepare(contract, {"question": WORD})
                ]
        assert len(set(reports)) == 1

    def test_another_process_gives_the_same(self, tmp_path: Path) -> None:
        with rumor.Respondent(tmp_path) as device:
            (here,) = device.prepare(collection(memoising()), {"question": WORD})
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.apply(_prepare_elsewhere, (tmp_path,)) == here.report

    def test_values_series_and_people_have_their_own(self, tmp_path: Path) -> None:
        reports = set()
        for person in range(2):
            for series in ("one", "two"):
                for word in ("this", "that"):
                    with rumor.Respondent(tmp_path / str(person)) as device:
                        contract = collection(memoising(), series=series)
                        (envelope,) = device.prepare(contract, {"question": word})
                        reports.add(envelope.report)
        assert len(reports) == 8

    def test_the_cohort_does_not_depend_on_the_value(self, tmp_path: Path) -> None:
        with rumor.Respondent(tmp_path) as device:
            contract = collection(memoising(), reports=50)
            words = [f"word {i}" for i in range(20)]
            cohorts = {device.prepare(contract, {"question": w})[0].report[0] for w in words}
        assert len(cohorts) == 1

    def test_they_have_the_law_of_the_permanent_stage(self) -> None:
        # 400 people of one word: each of the filter's 2 bits is kept with probability 3/4,
        # each of the other 62 set with 1/4. Sums of independent coins, within 5 standard
        # deviations.
        rappor = Rappor(bits=64, hashes=2, cohorts=1, f=0.5, p=0, q=1, key=b"key")
        own = int.from_bytes(rappor.bloom.filter(WORD, 0), "little")
        weight, people = own.bit_count(), 400
        kept = spurious = 0
        for person in range(people):
            secret = person.to_bytes(32, "little")
            bits = int.from_bytes(
                rappor.report_memoised(WORD, permanent=rumor.Keyed(secret)), "little"
            )
            kept += (bits & own).bit_count()
            spurious += (bits & ~own).bit_count()
        for seen, trials, chance in (
            (kept, weight * people, 0.75),
            (spurious, (64 - weight) * people, 0.25),
        ):
            spread = np.sqrt(trials * chance * (1 - chance))
            assert abs(seen - trials * chance) < 5 * spread

    def test_instantaneous_noise_is_fresh_around_them(self, tmp_path: Path) -> None:
        mechanism = BasicRappor(domain=16, f=0.5, p=0.25, q=0.75)
        contract = collection(mechanism, reports=600)
        with rumor.Respondent(tmp_path) as device:
            reports = [device.prepare(contract, {"question": 3})[0].report for _ in range(600)]
        ones = np.unpackbits(
            np.frombuffer(b"".join(reports), np.uint8).reshape(600, 2), axis=1
        ).mean(axis=0)
        # Every bit comes out 1 in a quarter or in three quarters of the reports (5 standard
        # deviations of a mean of 600 coins are 0.088), never in between.
        assert np.all((abs(ones - 0.25) < 0.09) | (abs(ones - 0.75) < 0.09))


def _prepare_elsewhere(folder: Path) -> bytes:
    Question.contract = lambda self: {"mechanism": self.mechanism.describe()}  # type: ignore[method-assign]
    with rumor.Respondent(folder) as device:
        return device.prepare(collection(memoising()), {"question": WORD})[0].report


class TestLedger:
    def test_repeated_values_cost_what_the_mechanism_says(self, tmp_path: Path) -> None:
        rappor = Rappor(bits=128, hashes=2, cohorts=8, f=0.5, p=0.5, q=0.75, key=b"key")
        contract = collection(rappor)
        with rumor.Respondent(tmp_path) as device:
            for word in ("a", "a", "b", "a"):
                device.prepare(contract, {"question": word})
            (spending,) = device.spending()
            assert (spending.reports, spending.values) == (4, 2)
            expected = rappor.epsilon_after(3) + rappor.epsilon_after(1)
            assert spending.epsilon == pytest.approx(expected, rel=1e-12)
            assert device.spent == pytest.approx(device._ledger.audit(), rel=1e-12)

    def test_fresh_reports_cost_their_epsilon_each(self, tmp_path: Path) -> None:
        mechanism = RandomizedResponse(domain=["yes", "no"], epsilon=1.0)
        contract = collection(mechanism)
        with rumor.Respondent(tmp_path) as device:
            device.prepare(contract, {"question": "yes"})
            device.prepare(contract, {"question": "yes"})
            with pytest.raises(InputError, match="one of the labels"):
                device.prepare(contract, {"question": 0})
            (spending,) = device.spending()
        assert spending.values == 1
        assert spending.epsilon == 2 * mechanism.epsilon

    def test_the_limit_of_the_collection_holds_across_revisions(self, tmp_path: Path) -> None:
        with rumor.Respondent(tmp_path) as device:
            one = collection(memoising(), reports=2)
            contract = collection(memoising(), reports=2, after=one)
            device.prepare(one, {"question": "a"})
            device.prepare(contract, {"question": "a"})
            with pytest.raises(rumor.InputError, match=r"takes at most 2 reports .* got 2 already"):
                device.prepare(contract, {"question": "a"})
            assert len(device.pending()) == 2

    def test_the_limit_of_the_device_holds_across_collections(self, tmp_path: Path) -> None:
        mechanism = RandomizedResponse(domain=2, epsilon=1.0)
        with rumor.Respondent(tmp_path, max_epsilon=2.5) as device:
            device.prepare(collection(mechanism, series="one"), {"question": 0})
            device.prepare(collection(mechanism, series="two"), {"question": 0})
            with pytest.raises(rumor.InputError, match=r"at most epsilon 2\.5 .* would make it 3"):
                device.prepare(collection(mechanism, series="three"), {"question": 0})
            assert device.spent == 2.0

    def test_what_one_series_cost_is_not_charged_to_another(self, tmp_path: Path) -> None:
        mechanism = RandomizedResponse(domain=2, epsilon=1.0)
        with rumor.Respondent(tmp_path) as device:
            # Each is held to what its own contract may cost, and neither to what the other did.
            for series in ("one", "two"):
                device.prepare(collection(mechanism, reports=1, series=series), {"question": 0})
            assert device.spent == 2.0

    def test_without_permanent_noise_nobody_is_asked_twice(self, tmp_path: Path) -> None:
        once = Rappor(bits=64, hashes=1, cohorts=1, f=0, p=0.5, q=0.75, key=b"key")
        with rumor.Respondent(tmp_path) as device:
            device.prepare(collection(once), {"question": "a"})
            with pytest.raises(rumor.InputError, match=r"\(f = 0\) can be asked once; got 2"):
                device.prepare(collection(once), {"question": "a"})

    def test_several_answers_are_made_together_or_not_at_all(self, tmp_path: Path) -> None:
        mechanism = RandomizedResponse(domain=2, epsilon=1.0)
        questions = tuple(Question(id, "choice", "", mechanism, 1, None) for id in ("a", "b"))
        contract = Collection("name", "series", "nobody", questions)
        with rumor.Respondent(tmp_path) as device:
            with pytest.raises(rumor.InputError, match="values must lie in"):
                device.prepare(contract, {"a": 0, "b": 7})
            assert device.pending() == []
            assert device.spent == 0.0
            assert len(device.prepare(contract, {"a": 0, "b": 1})) == 2

    def test_a_retry_sends_the_same_bytes_until_acknowledged(self, tmp_path: Path) -> None:
        mechanism = RandomizedResponse(domain=300, epsilon=0.1)
        contract = collection(mechanism)
        with rumor.Respondent(tmp_path) as device:
            (made,) = device.prepare(contract, {"question": 5})
        with rumor.Respondent(tmp_path) as device:
            assert device.pending(contract) == [made]
            assert device.pending(collection(mechanism, series="other")) == []
            device.acknowledge([made])
            assert device.pending() == []
            assert device.spent == mechanism.epsilon

    def test_no_true_value_is_ever_written(self, tmp_path: Path) -> None:
        with rumor.Respondent(tmp_path) as device:
            device.prepare(collection(memoising()), {"question": WORD})
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        for encoding in ("utf-8", "utf-16-le", "latin-1"):
            assert WORD.encode(encoding) not in stored

    def test_losing_or_resetting_the_secret_is_an_event_and_costs_anew(
        self, tmp_path: Path
    ) -> None:
        contract, mechanism = collection(memoising()), memoising()
        with rumor.Respondent(tmp_path) as device:
            device.prepare(contract, {"question": "a"})
            device.reset()
            device.prepare(contract, {"question": "a"})
        (tmp_path / "secret").unlink()
        with rumor.Respondent(tmp_path) as device:
            device.prepare(contract, {"question": "a"})
            assert [what for _, what in device.events()] == [
                "secret made",
                "secret reset",
                "secret lost and made anew",
            ]
            assert device.spent == pytest.approx(3 * mechanism.epsilon, rel=1e-12)
            assert len({envelope.report for envelope in device.pending()}) == 3

    def test_rounds_are_answered_once_each_in_order_and_their_costs_add_up(
        self, tmp_path: Path
    ) -> None:
        first = rumor.PrivKVM(keys=3, epsilon=1.0, rounds=2)
        second = first.next([0.1, 0.2, 0.3], parent="0" * 64)
        value = {0: 0.5}
        one = collection(first, reports=1)
        two = collection(second, reports=1, after=one)
        with rumor.Respondent(tmp_path) as device:
            with pytest.raises(rumor.InputError, match="has not answered round 1"):
                device.prepare(two, {"question": value})
            for contract in (one, two):
                device.prepare(contract, {"question": value})
                with pytest.raises(rumor.InputError, match=r"round . of .* takes at most 1 report"):
                    device.prepare(contract, {"question": value})
            (spending,) = device.spending()
            assert spending.reports == 2
            assert spending.epsilon == pytest.approx(first.epsilon + second.epsilon)
            assert spending.epsilon <= first.epsilon_all_rounds(1) + 1e-12
            assert len(device.pending()) == 2

    def test_a_damaged_or_newer_ledger_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "ledger.sqlite3").write_bytes(b"not a database" * 100)
        with pytest.raises(rumor.InputError, match="must be an intact database"):
            rumor.Respondent(tmp_path)
        path = tmp_path / "newer.sqlite3"
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
        with pytest.raises(rumor.InputError, match=r"must be of version 1 to 9; .* has 99"):
            Ledger(path)

    def test_a_killed_device_loses_and_repeats_nothing(self, tmp_path: Path) -> None:
        # The child prints each id once it is durable; whatever it managed to print must be
        # pending afterwards, and the debits must equal the reports that exist.
        script = f"""
            import rumor
            from rumor.contract.collection import Collection, Question
            Question.contract = lambda self: {{"mechanism": self.mechanism.describe()}}
            mechanism = rumor.RandomizedResponse(domain=2, epsilon=1.0)
            question = Question("question", "choice", "", mechanism, 1_000_000, None)
            contract = Collection("name", "series", "nobody", (question,))
            with rumor.Respondent({str(tmp_path)!r}) as device:
                while True:
                    for envelope in device.prepare(contract, {{"question": 1}}):
                        print(envelope.id.hex(), flush=True)
        """
        printed: list[str] = []
        for _ in range(3):
            child = subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
            )
            assert child.stdout is not None
            printed += [child.stdout.readline().strip() for _ in range(25)]
            os.kill(child.pid, signal.SIGKILL)
            rest = child.communicate()[0].split("\n")
            printed += [line for line in rest if len(line) == 32]
        with rumor.Respondent(tmp_path) as device:
            kept = {envelope.id.hex() for envelope in device.pending()}
            assert set(printed) <= kept
            (spending,) = device.spending()
            assert spending.reports == len(kept)
            assert spending.epsilon == pytest.approx(len(kept), rel=1e-12)
