"""Groups at a collector: taken, counted, kept, exported and withdrawn stratum by stratum."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.analysis.counting import summarize
from rumor.analysis.estimate import analyse
from rumor.analysis.sources import MemorySource
from rumor.cli import main
from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.http.server import background
from rumor.collector.reports_import import import_reports
from rumor.collector.service import Service
from rumor.collector.store import ingest
from rumor.collector.store.base import (
    BatchAccepted,
    IdConflict,
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
    stored_name,
)
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.contract.deletion import LEAST_KEPT
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.mechanisms.summary import Summary
from tests.collector.tools import call, rows, stored

DAY = datetime.date(2026, 3, 2)
LISTS: Mapping[str, list[str]] = {"country": ["DE", "FR", "other"], "os": ["__proto__", "other"]}
COLOUR: Mapping[str, object] = {
    "id": "colour", "kind": "choice", "labels": ["red", "green", "blue"], "epsilon": 1.0,
    "mechanism": "randomized-response", "reports_per_person": 3, "retention_days": 10,
}  # fmt: skip


def grouped(groups: Mapping[str, list[str]] | None = LISTS, **more: object) -> Collection:
    lists = {} if groups is None else {"groups": groups}
    head = {"name": "A", "series": "a", "contact": "c", "questions": [COLOUR]}
    return Collection.resolve({**head, **lists, **more})


def part(entry: StoredCollection, stratum: int, values: object) -> ReportBatch:
    return ReportBatch(
        entry.questions[stored_name("colour", stratum)], rows(entry, "colour", values)
    )


def fill(
    store: Store, entry: StoredCollection, monkeypatch: pytest.MonkeyPatch, days: int = 2
) -> dict[tuple[int, int], Reports]:
    """Write reports of strata 0, 3 and 5 (one alone) on some days; return them by both."""
    sent = {}
    for day in range(days):
        monkeypatch.setattr(ingest, "today", lambda day=day: DAY + datetime.timedelta(day))
        for stratum, count in ((0, 40 + day), (3, 20), (5, 1)):
            batch = part(entry, stratum, np.arange(count) % 3)
            assert store.write([batch]) == [BatchAccepted(count, 0)]
            sent[stratum, day] = batch.rows
    store.summarize()
    return sent


def expected(entry: StoredCollection, rows: Reports) -> Summary:
    mechanism = entry.collection.question().mechanism
    source = MemorySource(np.ascontiguousarray(rows[:, 16:]))
    found = summarize(source, mechanism, contract=entry.collection.digest, question="colour")
    return found.summaries[None]


def without_ids(summary: Summary) -> Summary:
    """Return a summary of files without the hashes by which copies of it are noticed."""
    return replace(summary, some_ids=())


def test_memory_files_and_stores_count_each_stratum_and_day_alike(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = store.register(grouped())
    sent = fill(store, entry, monkeypatch)
    export_collection(store, entry.collection.digest, tmp_path / "out")
    for day in range(2):
        date = DAY + datetime.timedelta(day)
        for stratum in (0, 3, 5):
            wanted = expected(entry, sent[stratum, day])
            assert store.summary(entry, "colour", (date, date), [stratum]) == wanted
            assert store.day_summaries(entry, "colour", [stratum])[1][date] == wanted
        of_all = expected(entry, np.concatenate([sent[each, day] for each in (0, 3, 5)]))
        assert store.summary(entry, "colour", (date, date)) == of_all
        files = tmp_path / "out"
        assert (
            without_ids(analyse(entry.collection, files, window=(date, date)).summary()) == of_all
        )
        by = analyse(entry.collection, files, window=(date, date), by="country").totals.summaries
        assert {land: without_ids(summary) for land, summary in by.items()} == {
            land: expected(entry, sent[stratum, day])
            for land, stratum in (("DE", 0), ("FR", 3), ("other", 5))
        }
        both = np.concatenate([sent[3, day], sent[5, day]])
        by = analyse(entry.collection, files, window=(date, date), by="os").totals.summaries
        assert {system: without_ids(summary) for system, summary in by.items()} == {
            "__proto__": expected(entry, sent[0, day]),
            "other": expected(entry, both),
        }
    assert store.reports_by_day(entry, "colour") == {
        DAY: 61, DAY + datetime.timedelta(1): 62,
    }  # fmt: skip
    assert store.reports_by_stratum(entry, "colour") == {0: 81, 3: 40, 5: 2}
    assert len(store.newest_reports(entry, "colour", 100)) == 100
    assert len(store.newest_reports(entry, "colour", 100, [3])) == 40


@pytest.mark.slow
def test_spark_counts_what_the_store_counts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark")
    entry = store.register(grouped())
    sent = fill(store, entry, monkeypatch, days=1)
    export_collection(store, entry.collection.digest, tmp_path / "out")
    by = analyse(entry.collection, tmp_path / "out", by="country", engine="spark").totals.summaries
    assert {land: without_ids(summary) for land, summary in by.items()} == {
        land: expected(entry, sent[stratum, 0])
        for land, stratum in (("DE", 0), ("FR", 3), ("other", 5))
    }


def test_what_was_exported_is_compared_weighted_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DE says red and FR green; the population is three quarters DE. One report is of others."""
    url = f"sqlite:///{tmp_path / 'one.db'}"
    store = open_store(url)
    entry = store.register(grouped({"country": LISTS["country"]}))
    for stratum, values in ((0, [0] * 2_000), (1, [1] * 1_000), (2, [2])):
        store.write([part(entry, stratum, values)])
    export_collection(store, entry.collection.digest, tmp_path / "out")
    store.close()
    (tmp_path / "known.csv").write_text("country,people\nDE,750\nFR,250\nother,1\n")
    contract, reports = str(tmp_path / "out" / "contract.json"), str(tmp_path / "out")

    def printed(*arguments: str) -> Any:
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    listed = printed("collections", "list", "--store", url)["collections"]
    assert [each["reports"] for each in listed] == [{"colour": 3_001}]
    assert main(["estimate", contract, reports, "--by", "country"]) == 0
    assert "country = other" in capsys.readouterr().out
    compared = printed("compare", contract, reports, "--by", "country", "--different-people")
    assert compared["groups"] == {"DE": 2_000, "FR": 1_000, "other": 1}
    weighted = printed(
        "estimate", contract, reports, "--weights", str(tmp_path / "known.csv"), "--by", "country"
    )
    red = next(row for row in weighted["estimates"] if row["value"] == "red")
    # The standard error is below 0.03 without the one of other, which counts a thousandth.
    assert abs(red["estimate"] - 0.75) < 0.15, red


def test_one_id_is_of_one_stratum(store: Store) -> None:
    entry = store.register(grouped())
    batch = part(entry, 1, [0, 1])
    elsewhere = ReportBatch(entry.questions["colour/2"], batch.rows)
    assert store.write([batch]) == [BatchAccepted(2, 0)]
    assert store.write([batch, elsewhere]) == [BatchAccepted(0, 2), IdConflict((0, 1))]


def test_an_export_goes_on_where_it_was(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = store.register(grouped())
    sent = fill(store, entry, monkeypatch, days=3)
    taken = sent[0, 2][:1, :16]
    assert store.withdraw(entry, "colour", taken) == 1
    assert store.expire(DAY + datetime.timedelta(12)) == 123
    done = export_collection(store, entry.collection.digest, tmp_path / "out")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    assert import_collection(other, tmp_path / "out") == done
    back = other.find(entry.collection.digest)
    assert stored(other, back, "colour") == stored(store, entry, "colour")
    for strata in (None, [0], [1], [3], [5]):
        for read in ("day_summaries", "spans", "dropped_reports", "reports_by_day", "summary"):
            one, two = getattr(store, read), getattr(other, read)
            more = ((None, None), strata) if read == "summary" else (strata,)
            mine, theirs = one(entry, "colour", *more), two(back, "colour", *more)
            assert mine == theirs if read != "day_summaries" else mine[1] == theirs[1]
    for (stratum, _), each in sent.items():
        number = back.questions[stored_name("colour", stratum)]
        assert other.write([ReportBatch(number, each)]) == [BatchAccepted(0, len(each))]
    export_collection(other, entry.collection.digest, tmp_path / "again")
    names = [
        {str(path.relative_to(root)) for path in root.rglob("*")}
        for root in (tmp_path / "out", tmp_path / "again")
    ]
    assert names[0] == names[1]
    other.close()


def test_quiet_strata_keep_no_counts_past_retention(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stratum has spans of its own; days of the sum are merged where any stratum's are."""
    entry = store.register(grouped())
    sent = fill(store, entry, monkeypatch, days=4)
    later = DAY + datetime.timedelta(30)
    assert store.expire(later) == sum(map(len, sent.values()))
    assert LEAST_KEPT == 100
    # Stratum 0: 40 + 41 + 42 + 43; stratum 3: 80, and stratum 5: 4, too few for any count.
    assert store.reports_by_stratum(entry, "colour") == {0: 166}
    assert store.dropped_reports(entry, "colour", [0]) is None
    lost = store.dropped_reports(entry, "colour")
    assert lost is not None
    assert (lost.first, lost.last, lost.reports) == (DAY, DAY + datetime.timedelta(3), 84)
    assert store.spans(entry, "colour") == {DAY: DAY + datetime.timedelta(3)}
    assert store.reports_by_day(entry, "colour") == {DAY: 166}
    mark, days = store.day_summaries(entry, "colour")
    assert (mark, {day: each.reports for day, each in days.items()}) == (
        sum(map(len, sent.values())), {DAY: 166},
    )  # fmt: skip
    with pytest.raises(InputError, match="must hold all days of a span or none"):
        store.summary(entry, "colour", (DAY, DAY))


def test_spans_of_strata_that_overlap_are_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = store.register(grouped())
    plan = {0: [60, 60, 0, 0], 3: [0, 70, 70, 0], 1: [0, 0, 0, 100]}
    for day in range(4):
        monkeypatch.setattr(ingest, "today", lambda day=day: DAY + datetime.timedelta(day))
        for stratum, counts in plan.items():
            if counts[day]:
                store.write([part(entry, stratum, [0] * counts[day])])
    store.expire(DAY + datetime.timedelta(30))
    two, three = DAY + datetime.timedelta(2), DAY + datetime.timedelta(3)
    assert store.spans(entry, "colour") == {DAY: two}
    assert store.spans(entry, "colour", [3]) == {DAY + datetime.timedelta(1): two}
    assert store.reports_by_day(entry, "colour") == {DAY: 260, three: 100}
    found = store.day_summaries(entry, "colour")[1]
    assert {day: each.reports for day, each in found.items()} == {DAY: 260, three: 100}
    assert store.summary(entry, "colour", (DAY, two)).reports == 260


def test_reports_files_become_reports_of_their_strata(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = store.register(grouped())
    fill(store, entry, monkeypatch)
    export_collection(store, entry.collection.digest, tmp_path / "out")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    done = import_reports(other, tmp_path / "out" / "question=colour", entry.collection)
    assert (done.reports, done.counted) == (123, 123)
    back = other.find(entry.collection.digest)
    assert other.reports_by_stratum(back, "colour") == {0: 81, 3: 40, 5: 2}
    assert other.summarize() == 0
    other.close()


# Over HTTP


@pytest.fixture
def one_store(tmp_path: Path) -> Iterator[Store]:
    """Return a store in a file: what is refused does not depend on the database."""
    opened = open_store(f"sqlite:///{tmp_path / 'one.db'}")
    yield opened
    opened.close()


def body(entry: StoredCollection, group: object) -> dict[str, object]:
    (row,) = rows(entry, "colour", [0])
    name, report = (base64.b64encode(each.tobytes()).decode() for each in (row[:16], row[16:]))
    said = {} if group is None else {"group": group}
    return {"question": "colour", "reports": [{"id": name, "report": report}], **said}


@pytest.mark.parametrize(
    ("group", "status"),
    [(0, 200), (5, 200), (6, 422), (-1, 422), (None, 422), ("0", 400), (True, 400), (0.5, 400)],
)
def test_a_json_body_names_the_group_of_its_reports(
    one_store: Store, group: object, status: int
) -> None:
    entry = one_store.register(grouped())
    with background(Service(one_store, "a")) as url:
        headers = {"Content-Type": "application/json", "Rumor-Collection": entry.collection.digest}
        answer = call(url, "/v1/reports", json.dumps(body(entry, group)).encode(), headers)
    assert answer.status == status
    if status == 422:
        assert "must name theirs, a number from 0 to 5; got " in answer.json()["detail"]
    one_store.summarize()
    assert one_store.reports_by_stratum(entry, "colour") == ({group: 1} if status == 200 else {})


@pytest.mark.parametrize(
    ("group", "status"),
    [("3", 200), ("6", 422), ("03", 422), ("+3", 422), ("", 422), ("9" * 40, 422), (None, 422)],
)
def test_a_binary_body_names_the_group_of_its_reports(
    one_store: Store, group: str | None, status: int
) -> None:
    entry = one_store.register(grouped())
    sent = rows(entry, "colour", [0, 1])
    headers = {
        "Content-Type": "application/vnd.rumor.reports", "Rumor-Question": "colour",
        "Rumor-Collection": entry.collection.digest,
        **({} if group is None else {"Rumor-Group": group}),
    }  # fmt: skip
    with background(Service(one_store, "a")) as url:
        answer = call(url, "/v1/reports", sent.tobytes(), headers)
    assert answer.status == status


def test_a_contract_without_groups_takes_none(one_store: Store) -> None:
    entry = one_store.register(grouped(None))
    headers = {"Content-Type": "application/json", "Rumor-Collection": entry.collection.digest}
    with background(Service(one_store, "a")) as url:
        answer = call(url, "/v1/reports", json.dumps(body(entry, 0)).encode(), headers)
        assert (answer.status, "must name none; got 0" in answer.json()["detail"]) == (422, True)
        answer = call(url, "/v1/reports", json.dumps(body(entry, None)).encode(), headers)
        assert answer.status == 200


@pytest.fixture
def asked(one_store: Store, tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve 150 red reports of DE, 150 green ones of FR and one other; yield URL and headers."""
    entry = one_store.register(grouped())
    one_store.write([part(entry, 0, [0] * 150), part(entry, 2, [1] * 150), part(entry, 5, [0])])
    token = add_token(tmp_path / "tokens", "analyst")
    with background(Service(one_store, "a", tokens=Tokens(tmp_path / "tokens"))) as url:
        yield url, {"Authorization": f"Bearer {token}"}


def test_an_analyst_asks_for_a_group(asked: tuple[str, dict[str, str]]) -> None:
    url, token = asked

    def estimated(query: str) -> tuple[int, float]:
        found = call(url, f"/v1/estimates/colour?order=given&{query}", headers=token).json()
        return found["reports"], found["estimates"][0]["unbiased"]

    everybody, german, french = map(estimated, ("", "group=country%3DDE", "group=country=FR"))
    assert (everybody[0], german[0], french[0]) == (301, 150, 150)
    # Standard errors are below 0.13.
    assert german[1] > 0.45 > 0.35 > french[1] - 0.1
    both = call(url, "/v1/estimates/colour?group=country=DE&group=os=other", headers=token)
    assert (both.status, "DE, os=other has 0" in both.json()["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("group=country=other", 409, "a group is shown from 100 reports on"),
        ("group=land=DE", 422, "groups must be of a public column (country, os); got 'land'"),
        ("group=country=IT", 422, "a group of 'country' must be one of DE, FR, other; got 'IT'"),
        ("group=country", 422, "a group must be NAME=GROUP"),
        ("group=os=other&group=os=other", 422, "must be said once for each name"),
    ],
)
def test_wrong_groups_are_refused_in_a_sentence(
    query: str, status: int, sentence: str, asked: tuple[str, dict[str, str]]
) -> None:
    url, token = asked
    today = datetime.datetime.now(datetime.UTC).date()
    days = f"first={today}&second={today}&different_people=1"
    for path in (
        f"estimates/colour?{query}",
        f"trends/colour?{query}",
        f"comparisons/colour?{days}&{query}",
    ):
        answer = call(url, f"/v1/{path}", headers=token)
        assert (answer.status, sentence in answer.json()["detail"]) == (status, True), path


def test_the_overview_counts_groups(asked: tuple[str, dict[str, str]]) -> None:
    url, token = asked
    found = call(url, "/v1/overview", headers=token).json()
    assert found["groups"] == [{"name": n, "groups": LISTS[n]} for n in ("country", "os")]
    assert [tuple(each.values()) for each in found["questions"][0]["groups"]] == [
        ("country", "DE", 150, True),
        ("country", "FR", 150, True),
        ("country", "other", 1, False),
        ("os", "__proto__", 300, True),
        ("os", "other", 1, False),
    ]


def test_a_device_sends_its_groups_and_takes_its_reports_back(store: Store, tmp_path: Path) -> None:
    entry = store.register(grouped())
    with background(Service(store, "a")) as url:
        with Client(url, tmp_path, attempts=1) as client:
            home = {"country": "DE", "os": "__proto__"}
            assert client.answer({"colour": "red"}, home).sent == 1
            assert client.answer({"colour": "red"}, {"country": "IT"}).sent == 1
            with pytest.raises(InputError, match="must be named as one of country, os; got 'land'"):
                client.answer({"colour": "red"}, {"land": "DE"})
            assert client.answer({"colour": "red"}).sent == 1
            store.summarize()
            assert store.reports_by_stratum(entry, "colour") == {0: 1, 5: 2}
            assert client.withdraw().withdrawn == 3
        assert store.reports_by_stratum(entry, "colour") == {}
        with Client(url, tmp_path / "other", attempts=1) as other:
            assert other.answer({"colour": "red"}, {"country": "FR"}).sent == 1
            store.expire(datetime.datetime.now(datetime.UTC).date())
            store.summarize()
            assert store.reports_by_stratum(entry, "colour") == {3: 1}


def test_reports_of_several_groups_wait_and_go_out_apart(store: Store, tmp_path: Path) -> None:
    contract = grouped()
    with Respondent(tmp_path) as device:
        for land in ("DE", "FR", "DE"):
            device.prepare(contract, {"colour": "red"}, groups={"country": land})
        assert [each.stratum for each in device.pending()] == [1, 3, 1]
    entry = store.register(contract)
    with (
        background(Service(store, "a")) as url,
        Client(url, tmp_path, contract, attempts=1) as client,
    ):
        assert client.flush().sent == 3
    store.summarize()
    assert store.reports_by_stratum(entry, "colour") == {1: 2, 3: 1}


def revision(first: Collection, groups: Mapping[str, list[str]] | None) -> Collection:
    return grouped(groups, revision=first.revision + 1, previous=first.digest)


@pytest.mark.parametrize(
    ("before", "after", "taken"),
    [
        (LISTS, LISTS, True),
        (LISTS, {"country": ["other", "FR", "DE"]}, True),
        (LISTS, {"country": ["DE", "other"]}, True),
        (LISTS, None, True),
        (None, {"country": ["DE", "other"]}, False),
        (LISTS, {"country": ["DE", "FR", "IT", "other"]}, False),
        (LISTS, {**LISTS, "age": ["old", "other"]}, False),
    ],
)
def test_a_revision_tells_no_more_groups_apart(
    before: Mapping[str, list[str]] | None,
    after: Mapping[str, list[str]] | None,
    taken: bool,
    tmp_path: Path,
) -> None:
    first = grouped(before)
    later = revision(first, after)
    with Respondent(tmp_path) as device:
        device.prepare(first, {"colour": "red"})
    with Respondent(tmp_path) as device:
        if taken:
            device.prepare(later, {"colour": "red"})
            wanted = None if later.groups is None else later.groups.stratum({})
            assert device.pending()[-1].stratum == wanted
        else:
            with pytest.raises(InputError, match="must not weaken sender anonymity"):
                device.prepare(later, {"colour": "red"})
            assert len(device.pending()) == 1


def test_tokens_admit_reports_of_any_group(store: Store, tmp_path: Path) -> None:
    from rumor.contract.admission import admission_key, new_invitation, read_invitation, token

    entry = store.register(grouped(admission="invited"))
    code = new_invitation()
    tokens = [token(read_invitation(code), "a", "colour", number) for number in range(3)]
    store.admit("a", [admission_key("a", "colour", each) for each in tokens])
    with (
        background(Service(store, "a")) as url,
        Client(url, tmp_path, invitation=code, attempts=1) as client,
    ):
        for land in ("DE", "FR", "IT"):
            assert client.answer({"colour": "red"}, {"country": land}).sent == 1
    store.summarize()
    assert store.reports_by_stratum(entry, "colour") == {1: 1, 3: 1, 5: 1}
