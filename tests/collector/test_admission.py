"""One-time tokens: each admits one report, and says nothing about it afterwards."""

from __future__ import annotations

import os
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

import rumor
from rumor.cli import main
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import (
    BatchAccepted,
    IdConflict,
    Store,
    StoredCollection,
    StoreUnavailableError,
    TokenRefused,
    open_store,
)
from rumor.collector.store.dialects import sqlite
from rumor.collector.store.sql import SqlStore
from rumor.contract.admission import (
    admission_key,
    admission_keys,
    new_invitation,
    read_invitation,
    token,
)
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.collector.tools import batch, call, rows, send, stored, typing

WISH = {
    "name": "Members only",
    "series": "series",
    "contact": "nobody@example.org",
    "admission": "invited",
    "questions": [
        {"id": "colour", "kind": "choice", "labels": ["red", "green"], "epsilon": 1.0},
        {
            "id": "home",
            "kind": "choice",
            "labels": ["blank", "news", "mail"],
            "epsilon": 1.0,
            "reports_per_person": 2,
        },
    ],
}


@pytest.fixture
def invited() -> Collection:
    return Collection.resolve(WISH)


@pytest.fixture
def entry(store: Store, invited: Collection) -> StoredCollection:
    return store.register(invited)


def keys_of(entry: StoredCollection, code: str, question: str, number: int = 0) -> bytes:
    made = token(read_invitation(code), "series", question, number)
    return admission_key("series", question, made)


class TestTokens:
    def test_every_report_of_a_person_has_a_token_of_its_own(self, invited: Collection) -> None:
        keys = admission_keys(invited, new_invitation())
        assert len(set(keys)) == len(keys) == 3
        assert not set(keys) & set(admission_keys(invited, new_invitation()))

    def test_a_token_fits_one_question_of_one_series(self) -> None:
        made = token(bytes(16), "series", "colour", 0)
        assert admission_key("series", "colour", made) != admission_key("series", "home", made)
        assert admission_key("series", "colour", made) != admission_key("other", "colour", made)

    @pytest.mark.parametrize(
        "wrong",
        [
            "",
            "x" * 39,
            "rumor-invitation-abc",
            "rumor-invitation-!" * 2,
            f"rumor-invitation-{'A' * 24}",
        ],
    )
    def test_what_is_no_invitation_is_refused_and_not_repeated(self, wrong: str) -> None:
        with pytest.raises(InputError, match="an invitation must be") as refusal:
            read_invitation(wrong)
        assert not wrong or wrong not in str(refusal.value)

    def test_the_contract_says_so_only_where_it_matters(self, invited: Collection) -> None:
        assert invited.contract()["admission"] == "invited"
        assert Collection.from_json(invited.canonical()) == invited
        anybody = Collection.resolve({**WISH, "admission": "open"})
        assert "admission" not in anybody.contract()
        assert anybody.digest != invited.digest
        with pytest.raises(InputError, match="leaves admission 'open' out"):
            Collection.from_contract({**anybody.contract(), "admission": "open"})
        with pytest.raises(InputError, match="must be one of open, invited, blind; got 'some'"):
            Collection.resolve({**WISH, "admission": "some"})


class TestStore:
    def test_a_token_admits_one_report(self, store: Store, entry: StoredCollection) -> None:
        code = new_invitation()
        store.admit("series", admission_keys(entry.collection, code))
        assert store.admissions("series") == 3
        key = keys_of(entry, code, "colour")
        first = replace(batch(entry, "colour", [0]), admission=key)
        second = replace(batch(entry, "colour", [1]), admission=key)
        assert store.write([first]) == [BatchAccepted(1, 0)]
        assert store.write([second]) == [TokenRefused()]
        assert store.admissions("series") == 2
        # The same report again is a duplicate, whatever became of its token.
        assert store.write([first]) == [BatchAccepted(0, 1)]
        assert len(stored(store, entry, "colour")) == 1

    def test_the_first_of_a_commit_gets_the_token(
        self, store: Store, entry: StoredCollection
    ) -> None:
        code = new_invitation()
        store.admit("series", admission_keys(entry.collection, code))
        key = keys_of(entry, code, "colour")
        both = [replace(batch(entry, "colour", [i]), admission=key) for i in (0, 1)]
        unknown = replace(batch(entry, "colour", [0]), admission=bytes(32))
        assert store.write([*both, unknown, both[0]]) == [
            BatchAccepted(1, 0),
            TokenRefused(),
            TokenRefused(),
            BatchAccepted(0, 1),
        ]

    def test_a_conflict_spends_no_token(self, store: Store, entry: StoredCollection) -> None:
        code = new_invitation()
        store.admit("series", admission_keys(entry.collection, code))
        row = rows(entry, "home", [0])
        first, second = (keys_of(entry, code, "home", number) for number in (0, 1))
        number = entry.questions["home"]
        good = replace(batch(entry, "home", [0]), rows=row, question=number, admission=first)
        assert store.write([good]) == [BatchAccepted(1, 0)]
        other = row.copy()
        other[0, -1] = (other[0, -1] + 1) % 3
        assert store.write([replace(good, rows=other, admission=second)]) == [IdConflict((0,))]
        assert store.admissions("series") == 2

    def test_no_trace_connects_a_used_token_with_its_report(
        self, store: Store, entry: StoredCollection, store_url: str
    ) -> None:
        code = new_invitation()
        store.admit("series", admission_keys(entry.collection, code))
        key = keys_of(entry, code, "colour")
        store.write([replace(batch(entry, "colour", [0]), admission=key)])
        store.forget_tokens()
        if store_url.startswith("sqlite"):
            path = Path(store_url.removeprefix("sqlite:///"))
            files = [path, *path.parent.glob(f"{path.name}-*")]
            assert not any(key in file.read_bytes() for file in files if file.name[-3:] != "shm")
        else:
            store.forget_tokens(thorough=True)
            with psycopg.connect(store_url) as connection:
                pages = connection.execute(
                    "SELECT pg_relation_size('rumor.admission'),"
                    " (SELECT COUNT(*) FROM rumor.admission)"
                ).fetchone()
            assert pages is not None
            size, rows = pages
            with psycopg.connect(store_url) as connection:
                (path_in,) = connection.execute(
                    "SELECT current_setting('data_directory') || '/' ||"
                    " pg_relation_filepath('rumor.admission')"
                ).fetchone() or ("",)
            assert rows == 2
            assert len(Path(path_in).read_bytes()) == size
            assert key not in Path(path_in).read_bytes()

    def test_deleting_the_collection_deletes_its_tokens(
        self, store: Store, entry: StoredCollection
    ) -> None:
        store.admit("series", admission_keys(entry.collection, new_invitation()))
        store.delete_collection(entry.collection.digest)
        assert store.admissions("series") == 0


def test_a_store_of_the_first_version_learns_of_tokens(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as database:
        database.executescript(sqlite._MIGRATIONS[0])
        database.execute(f"PRAGMA application_id = {sqlite._APPLICATION}")
        database.execute("PRAGMA user_version = 1")
    database.close()
    store = open_store(f"sqlite:///{path}")
    store.admit("series", [bytes(32)])
    assert store.admissions("series") == 1
    store.close()


class TestOverHttp:
    def test_an_invited_person_answers_and_nobody_else(
        self, store_url: str, invited: Collection, tmp_path: Path
    ) -> None:
        store = open_store(store_url)
        entry = store.register(invited)
        code = new_invitation()
        store.admit("series", admission_keys(invited, code))
        with background(Service(store, "series")) as url:
            with rumor.Client(url, tmp_path / "stranger") as stranger:
                with pytest.raises(InputError, match="'Members only' is for invited people"):
                    stranger.answer({"colour": "red"})
                assert stranger.spent == 0
            with rumor.Client(url, tmp_path / "member", invitation=code) as member:
                assert member.answer({"colour": "red", "home": "news"}).sent == 2
                assert member.answer({"home": "news"}).sent == 1
            # Somebody who copied the code comes too late.
            with rumor.Client(url, tmp_path / "copy", invitation=code) as copy:
                receipt = copy.answer({"colour": "green"})
                # It is kept: nothing that was paid for is thrown away.
                assert (receipt.sent, receipt.waiting, receipt.refused) == (0, 1, 1)
                assert "your invitation is not known there or has been used" in str(receipt.problem)
            body = rows(entry, "colour", [0, 1])
            for headers, many in (
                ({}, 1),
                ({"Rumor-Token": "zz"}, 1),
                ({"Rumor-Token": "0" * 32}, 2),
            ):
                answer = call(
                    url,
                    "/v1/reports",
                    body[:many].tobytes(),
                    {
                        "Content-Type": "application/vnd.rumor.reports",
                        "Rumor-Collection": invited.digest,
                        "Rumor-Question": "colour",
                        **headers,
                    },
                )
                assert (answer.status, answer.problem) == (403, "not-admitted")
        again = open_store(store_url)
        assert again.admissions("series") == 0
        assert len(stored(again, again.find(invited.digest), "home")) == 2
        again.close()


def test_one_valid_token_admits_no_second_report(tmp_path: Path, invited: Collection) -> None:
    """Two in a body are refused together, and the token is still good for one of them."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry, code = store.register(invited), new_invitation()
    store.admit("series", admission_keys(invited, code))
    body = rows(entry, "home", [0, 1])
    valid = token(read_invitation(code), "series", "home", 0).hex()
    with background(Service(store, "series")) as url:
        both = send(url, invited, "home", body.tobytes(), Rumor_Token=valid)
        assert (both.status, both.problem) == (403, "not-admitted")
        assert store.admissions("series") == 3
        assert stored(store, entry, "home") == {}
        one = send(url, invited, "home", body[:1].tobytes(), Rumor_Token=valid)
        assert one.json() == {"accepted": 1, "duplicates": 0}
        # Of this question and nothing else.
        other = rows(entry, "colour", [0]).tobytes()
        last = token(read_invitation(code), "series", "home", 1).hex()
        assert send(url, invited, "colour", other, Rumor_Token=last).problem == "not-admitted"
        assert store.admissions("series") == 2


def test_a_spent_invitation_locks_nobody_out(
    store_url: str, invited: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same bytes go out with another invitation, and cost nothing more."""
    store = open_store(store_url)
    entry = store.register(invited)
    first, second = new_invitation(), new_invitation()
    for code in (first, second):
        store.admit("series", admission_keys(invited, code))
    device = tmp_path / "late"
    with background(Service(store, "series")) as url:
        with rumor.Client(url, tmp_path / "quick", invitation=first) as quick:
            assert quick.answer({"colour": "red", "home": "news"}).sent == 2
            assert quick.answer({"home": "news"}).sent == 1
        with rumor.Client(url, device, invitation=first) as late:
            for given in ({"colour": "red", "home": "news"}, {"home": "mail"}):
                assert late.answer(given).sent == 0
            made = {envelope.id: envelope.report for envelope in late.waiting()}
            spent = late.spent
            assert len(made) == 3
            with pytest.raises(InputError, match="takes at most 1 report"):
                late.answer({"colour": "red"})
            assert late.flush().waiting == 3
        command = ["answer", url, "--state-dir", str(device), "--invitation"]
        with typing():
            assert main([*command, first]) == 1
        assert "another invitation sends the same ones" in capsys.readouterr().out
        with typing():
            assert main([*command, second]) == 0
        assert "3 reports sent, 0 pending" in capsys.readouterr().out
        with rumor.Client(url, device) as late:
            assert (late.spent, late.waiting()) == (spent, [])
        kept = {**stored(store, entry, "colour"), **stored(store, entry, "home")}
        assert made.items() <= kept.items()
        assert store.admissions("series") == 0


def test_the_command_invites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wish = tmp_path / "members.toml"
    question = '[[questions]]\nid = "a"\nkind = "choice"\ndomain = 3\nepsilon = 1.0\n'
    text = 'name = "Members"\nseries = "members"\ncontact = "x@example.org"\n'
    wish.write_text(f'{text}admission = "invited"\n{question}')
    url, out = f"sqlite:///{tmp_path / 'store.db'}", tmp_path / "codes.txt"
    assert main(["invite", str(wish), "-n", "3", "-o", str(out), "--store", url]) == 0
    assert "3 invitations written" in capsys.readouterr().out
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    codes = out.read_text().split()
    assert len({read_invitation(code) for code in codes}) == 3
    store = open_store(url)
    assert store.admissions("members") == 3
    with background(Service(store, "members")) as address:
        folder = os.fspath(tmp_path / "device")
        command = ["answer", address, "--state-dir", folder, "--invitation", codes[0]]
        with typing("a=1"):
            assert main(command) == 0
    assert main(["invite", str(wish), "-o", str(out), "--store", url]) == 2
    assert "must go to a new file" in capsys.readouterr().err
    wish.write_text(f"{text}{question}")
    assert main(["invite", str(wish), "-o", str(tmp_path / "x"), "--store", url]) == 2
    assert "open to anybody" in capsys.readouterr().err


def test_invitations_are_written_once_they_are_admitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wish = tmp_path / "members.toml"
    wish.write_text(
        'name = "Members"\nseries = "members"\ncontact = "x@example.org"\nadmission = "invited"\n'
        '[[questions]]\nid = "a"\nkind = "choice"\ndomain = 3\nepsilon = 1.0\n'
    )

    def full(self: SqlStore, series: str, keys: list[bytes]) -> None:
        raise StoreUnavailableError("disk full")

    monkeypatch.setattr(SqlStore, "admit", full)
    out = tmp_path / "codes.txt"
    store = f"sqlite:///{tmp_path / 'store.db'}"
    assert main(["invite", str(wish), "-o", str(out), "--store", store]) == 2
    assert not out.exists()
    said = capsys.readouterr().err
    assert said == "rumor: the store cannot be used just now; try again (disk full)\n"
