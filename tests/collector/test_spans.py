"""What stays past retention: counts of at least a hundred reports together, and no quiet day."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rumor
from rumor.analysis.trend.method import estimate_trend
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.http.server import background
from rumor.collector.periodic import StoreMaintenance
from rumor.collector.service import Service
from rumor.collector.store import expiry, ingest, spans, summaries
from rumor.collector.store.base import DroppedReports, Store, StoredCollection, open_store
from rumor.collector.store.counts import DayTally
from rumor.collector.store.sql import SqlStore
from rumor.collector.store.tables import day_of
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.deletion import LEAST_KEPT
from rumor.kinds import KINDS
from tests.collector.tools import batch, call, collection, stored
from tests.machine.quick import quick_folder

DAY = datetime.date(2026, 3, 2)  # a Monday
RETENTION = 10


def after(days: int) -> datetime.date:
    return DAY + datetime.timedelta(days=days)


def fill(
    store: Store, monkeypatch: pytest.MonkeyPatch, reports: Iterable[int]
) -> tuple[StoredCollection, list[np.ndarray]]:
    """A collection with so many reports on the first day, the second, and so on."""
    entry = store.register(collection(retention=RETENTION))
    written = []
    for number, count in enumerate(reports):
        day = after(number)
        monkeypatch.setattr(ingest, "today", lambda day=day: day)
        if not count:
            written.append(np.zeros((0, 1), np.uint8))
            continue
        part = batch(entry, "colour", np.arange(count) % 3)
        store.write([part])
        written.append(part.rows[:, 16:])
    store.summarize()
    return entry, written


def kept(store: Store, entry: StoredCollection) -> list[tuple[int, int, int]]:
    """First day, last day and reports of every summary, days as numbers from `DAY`."""
    lasts = store.spans(entry, "colour")
    return [
        ((day - DAY).days, (lasts.get(day, day) - DAY).days, reports)
        for day, reports in store.reports_by_day(entry, "colour").items()
    ]


def tally(entry: StoredCollection, reports: Iterable[np.ndarray]) -> list[int]:
    mechanism = entry.collection.question("colour").mechanism
    counted = mechanism.tally(np.ascontiguousarray(np.concatenate(list(reports))))
    return [int(count) for count in counted]


def test_a_quiet_day_is_not_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tally of a day with one report would be that report."""
    entry, _ = fill(store, monkeypatch, [1])
    assert store.expire(after(RETENTION)) == 0
    assert kept(store, entry) == [(0, 0, 1)]  # as long as the report is there
    assert store.expire(after(RETENTION + 1)) == 1
    assert kept(store, entry) == []
    assert store.dropped_reports(entry, "colour") == DroppedReports(DAY, DAY, 1)
    assert store.summary(entry, "colour").reports == 0


def test_a_quiet_day_joins_the_span_before_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, written = fill(store, monkeypatch, [120, 1, 130, 2, 5])
    for day in range(1, 6):
        store.expire(after(RETENTION + day))
        for first, last, reports in kept(store, entry):
            assert reports >= LEAST_KEPT or first >= day, (first, last, reports)
    assert kept(store, entry) == [(0, 1, 121), (2, 4, 137)]
    assert store.dropped_reports(entry, "colour") is None
    days = store.day_summaries(entry, "colour")[1]
    assert days[DAY].tally.tolist() == tally(entry, written[:2])
    assert days[after(2)].tally.tolist() == tally(entry, written[2:])


def test_days_that_expire_at_once_make_spans_of_enough_reports(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, written = fill(store, monkeypatch, [30, 30, 30, 30, 60, 60, 10])
    assert store.expire(after(RETENTION + 7)) == 250
    assert kept(store, entry) == [(0, 3, 120), (4, 6, 130)]
    assert store.day_summaries(entry, "colour")[1][DAY].tally.tolist() == tally(entry, written[:4])
    assert stored(store, entry, "colour") == {}


def test_reports_before_the_first_span_are_a_number_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, written = fill(store, monkeypatch, [3, 4, 150])
    for day in (1, 2, 3):
        store.expire(after(RETENTION + day))
    assert kept(store, entry) == [(2, 2, 150)]
    assert store.dropped_reports(entry, "colour") == DroppedReports(DAY, after(1), 7)
    assert store.summary(entry, "colour").tally.tolist() == tally(entry, written[2:])


def test_quiet_days_of_an_older_rumor_are_merged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a store has small tallies of days whose reports are gone."""
    entry, written = fill(store, monkeypatch, [40, 1, 70, 2])
    assert isinstance(store, SqlStore)
    with store.database.writing() as run:
        run("UPDATE report SET report = NULL, day = NULL, checksum = NULL")
    assert len(kept(store, entry)) == 4
    assert store.expire(after(RETENTION + 4)) == 0
    assert kept(store, entry) == [(0, 3, 113)]
    assert store.summary(entry, "colour").tally.tolist() == tally(entry, written)


def test_the_housekeeper_merges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry, _ = fill(store, monkeypatch, [1, 120])
    monkeypatch.setattr(StoreMaintenance, "_run", lambda self: None)
    StoreMaintenance(store).run_once(after(RETENTION + 2))
    assert kept(store, entry) == [(0, 1, 121)]
    store.close()


def test_nothing_is_kept_of_a_quiet_day_between_two_commits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the housekeeper dies: what is deleted so far is merged, or many reports."""
    monkeypatch.setattr(expiry, "CHUNK", 150)
    entry, _ = fill(store, monkeypatch, [2, 400, 3, 1])
    assert isinstance(store, SqlStore)
    writing, seen = store.database.writing, []

    def watching(**options: bool):  # type: ignore[no-untyped-def]
        here = dict.fromkeys(range(4), 0)
        for part in store.reports(entry, "colour"):
            here[(part.day - DAY).days] += len(part.ids)
        found = kept(store, entry)
        for first, last, reports in found:
            left = sum(here[day] for day in range(first, last + 1))
            assert left == reports or reports - left >= LEAST_KEPT, (found, here)
        seen.append(found)
        return writing(**options)

    monkeypatch.setattr(store.database, "writing", watching)
    assert store.expire(after(RETENTION + 4)) == 406
    assert len(seen) >= 4
    assert kept(store, entry) == [(0, 3, 406)]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    reports=st.lists(st.integers(0, 250), min_size=1, max_size=8),
    steps=st.lists(st.integers(1, 5), max_size=8),
)
def test_no_span_is_small_and_nothing_is_counted_twice(
    reports: list[int], steps: list[int]
) -> None:
    with pytest.MonkeyPatch.context() as patch, quick_folder("spans") as folder:
        store = open_store(f"sqlite:///{folder / 'store.db'}")
        entry, written = fill(store, patch, reports)
        today = RETENTION
        for step in [*steps, 20]:
            today += step
            store.expire(after(today))
            over = today - RETENTION
            found, without = kept(store, entry), store.dropped_reports(entry, "colour")
            days = store.day_summaries(entry, "colour")[1]
            gone = 0
            if without is not None:
                gone = without.reports
                last = (without.last - DAY).days
                assert gone == sum(reports[: last + 1]) < LEAST_KEPT * len(reports)
            assert sum(n for *_, n in found) + gone == sum(reports)
            for first, last, number in found:
                assert number >= LEAST_KEPT or first >= over
                part = written[first : last + 1]
                assert days[after(first)].tally.tolist() == tally(entry, part)
        store.close()


def test_a_window_does_not_cut_a_span(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _ = fill(store, monkeypatch, [60, 60, 5, 7])
    store.expire(after(RETENTION + 3))
    assert kept(store, entry) == [(0, 2, 125), (3, 3, 7)]
    assert store.summary(entry, "colour", (DAY, after(2))).reports == 125
    assert store.summary(entry, "colour", (after(3), None)).reports == 7
    assert store.summary(entry, "colour", (None, after(9))).reports == 132
    for window in ((DAY, after(1)), (after(1), None), (after(2), after(2)), (None, DAY)):
        with pytest.raises(rumor.InputError, match="cuts 2026-03-02 to 2026-03-04"):
            store.summary(entry, "colour", window)


def test_spans_go_out_and_come_back(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, _ = fill(store, monkeypatch, [4, 110, 3, 6])
    store.expire(after(RETENTION + 1))
    store.expire(after(RETENTION + 3))
    assert kept(store, entry) == [(1, 2, 113), (3, 3, 6)]
    export_collection(store, entry.collection.digest, tmp_path / "out")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    import_collection(other, tmp_path / "out")
    back = other.find(entry.collection.digest)
    assert kept(other, back) == kept(store, entry)
    assert other.dropped_reports(back, "colour") == DroppedReports(DAY, DAY, 4)
    assert other.day_summaries(back, "colour")[1] == store.day_summaries(entry, "colour")[1]
    other.expire(after(RETENTION + 4))
    assert kept(other, back) == [(1, 3, 119)]
    other.close()
    (tmp_path / "out" / "_counted" / "colour" / "spans.json").write_text('{"spans": {"x": 1}}')
    with pytest.raises(rumor.InputError, match="which summaries are of several days"):
        import_collection(open_store(f"sqlite:///{tmp_path / 'third.db'}"), tmp_path / "out")


def test_a_deleted_collection_leaves_no_span(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _ = fill(store, monkeypatch, [3, 60, 60])
    store.expire(after(RETENTION + 1))
    store.expire(after(RETENTION + 3))
    store.delete_collection(entry.collection.digest)
    assert isinstance(store, SqlStore)
    with store.database.reading() as run:
        for table in ("span", "drop_count", "summary"):
            assert run(f"SELECT * FROM {table}") == []


def test_a_damaged_span_is_noticed_and_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    entry, _ = fill(store, monkeypatch, [60, 60])
    store.expire(after(RETENTION + 2))
    assert isinstance(store, SqlStore)
    with store.database.writing() as run:
        run("UPDATE span SET last = last + 1")
    store.close()
    with pytest.raises(rumor.InputError, match="last day of the counts"):
        open_store(url)
    store = open_store(url, check=False)
    store.repair()
    store.close()
    store = open_store(url)
    assert kept(store, entry) == [(0, 0, 120)]
    store.close()


def test_a_late_report_of_a_day_in_a_span_can_be_withdrawn(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collector whose clock is late writes under a day that is over."""
    entry, _ = fill(store, monkeypatch, [60, 60])
    store.expire(after(RETENTION + 2))
    monkeypatch.setattr(ingest, "today", lambda: after(1))
    part = batch(entry, "colour", [0])
    store.write([part])
    store.summarize()
    assert isinstance(store, SqlStore)
    with store.database.writing(alone=True) as run:  # another process merges meanwhile
        spans.merge(run, entry.questions["colour"], counts_day(after(2)))
    assert kept(store, entry) == [(0, 1, 121)]
    assert store.withdraw(entry, "colour", np.ascontiguousarray(part.rows[:, :16])) == 1
    assert kept(store, entry) == [(0, 1, 120)]


def counts_day(day: datetime.date) -> int:
    return (day - datetime.date(1970, 1, 1)).days


def test_a_trend_names_the_days_of_a_span(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _ = fill(store, monkeypatch, [60, 60, 150, 40, 50, 30, 20, 10, 10])
    store.expire(after(RETENTION + 3))
    kind = KINDS["choice"]
    days, lasts = store.day_summaries(entry, "colour")[1], store.spans(entry, "colour")
    found = estimate_trend(kind, days, spans=lasts)
    assert list(found.periods)[:3] == ["2026-03-02..2026-03-03", "2026-03-04", "2026-03-05"]
    assert list(found.counts)[:3] == [120, 150, 40]
    # A span that reaches into another week makes one period of both.
    weeks = {DAY: days[DAY], after(15): days[after(2)], after(22): days[after(3)]}
    weeks[after(30)] = days[after(4)]
    joined = estimate_trend(kind, weeks, every="week", spans={DAY: after(7)})
    assert list(joined.periods) == [
        "2026-03-02..2026-03-15",
        "2026-03-16",
        "2026-03-23",
        "2026-03-30",
    ]
    assert found.plot().to_dict()


def test_analysts_see_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    today = datetime.datetime.now(datetime.UTC).date()
    first = today - datetime.timedelta(days=RETENTION + 4)
    monkeypatch.setattr("tests.collector.test_spans.DAY", first)
    entry, _ = fill(store, monkeypatch, [3, 60, 60, 5, 200])
    store.expire(first + datetime.timedelta(days=RETENTION + 1))
    store.expire(today)
    token = add_token(tmp_path / "tokens", "me")
    service = Service(store, "series", tokens=Tokens(tmp_path / "tokens"), summarize_seconds=0.05)
    headers = {"Authorization": f"Bearer {token}"}
    days = [(first + datetime.timedelta(days=n)).isoformat() for n in range(5)]
    with background(service) as url:
        (colour, _) = call(url, "/v1/overview", headers=headers).json()["questions"]
        assert colour["dropped"] == 3
        assert colour["days"] == [
            {"day": days[1], "last": days[3], "reports": 125},
            {"day": days[4], "last": days[4], "reports": 200},
        ]
        cut = call(url, f"/v1/estimates/colour?from={days[2]}", headers=headers)
        assert (cut.status, cut.problem) == (422, "invalid-query")
        assert f"it cuts {days[1]} to {days[3]}" in cut.json()["detail"]
        whole = call(url, f"/v1/estimates/colour?from={days[1]}&to={days[3]}", headers=headers)
        assert whole.json()["reports"] == 125
    assert entry.open


# --- Small tables of what is decided, against the rules themselves --------------------------------

COUNTS = [
    list(counts)
    for length in range(1, 5)
    for counts in itertools.product((1, 40, 60, 99, 100, 101), repeat=length)
]


def grouped(counts: list[int]) -> list[list[int]]:
    """The days of each span by the rule: as few as make enough; what is left joins the last."""
    groups: list[list[int]] = []
    some: list[int] = []
    for day in range(len(counts)):
        some.append(day)
        if sum(counts[one] for one in some) >= LEAST_KEPT:
            groups.append(some)
            some = []
    if some and groups:
        groups[-1] += some
    elif some:
        groups.append(some)
    return groups


def test_days_become_spans_of_enough_reports_and_no_more_days_than_that() -> None:
    for counts in COUNTS:
        wanted = grouped(counts)
        days = [
            spans.Span(DayTally(7, 10 * day, count, np.array([count, day])), 10 * day + 3)
            for day, count in enumerate(counts)
        ]
        whole, rest = spans._merged(days)
        assert (rest is None) == (sum(counts) >= LEAST_KEPT)
        found = whole if rest is None else [rest]
        assert [(one.day, one.last, one.counted.reports, one.counted.tally.tolist())
                for one in found] == [
            (10 * of[0], 10 * of[-1] + 3, sum(counts[one] for one in of),
             [sum(counts[one] for one in of), sum(of)])
            for of in wanted
        ]  # fmt: skip
        # Reports are deleted by the same groups, so that no part of a span is ever small.
        rows = [
            expiry._Days(day, count, 5 - day, 100 + day % 2, (count, day))
            for day, count in enumerate(counts)
        ]
        assert list(expiry._together(rows)) == [
            expiry._Days(
                of[-1],
                sum(counts[one] for one in of),
                5 - of[-1],
                100 + max(one % 2 for one in of),
                max((counts[one], one) for one in of),
            )
            for of in wanted
        ]


def test_strata_are_deleted_together_up_to_a_transactions_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expiry, "CHUNK", 10)
    for sizes in itertools.product((1, 4, 5, 6, 9, 10, 11), repeat=3):
        rows = {
            number: [expiry._Days(0, size - 1, 0, 0, (0, 0)), expiry._Days(1, 1, 0, 0, (0, 0))]
            for number, size in enumerate(sizes)
        }
        found = list(expiry._few_at_a_time(rows))
        assert [one for some in found for one in some] == [n for n in rows if sizes[n] <= 10]
        totals = [sum(sizes[one] for one in some) for some in found]
        assert all(0 < total <= 10 for total in totals)
        for some, total, following in zip(found, totals, found[1:], strict=False):
            assert total + sizes[following[0]] > 10, (sizes, some)


SPANS = [(first, last) for first in range(3, 6) for last in range(first + 1, 7)]


def test_spans_of_strata_that_share_a_day_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all pairs and triples: two spans are joined where they have a day in common."""
    for several in itertools.chain(
        itertools.combinations(SPANS, 2), itertools.combinations(SPANS, 3)
    ):
        of = {number: {first: last} for number, (first, last) in enumerate(several)}
        monkeypatch.setattr(spans, "all_lasts", lambda run, questions, of=of: of)
        left = [set(range(first, last + 1)) for first, last in several]
        joined: list[set[int]] = []
        while left:
            one = left.pop()
            while touching := [each for each in left if each & one]:
                one = one.union(*touching)
                left = [each for each in left if each not in touching]
            joined.append(one)
        wanted = {min(one): max(one) for one in joined}
        assert spans.joined_lasts(None, range(len(several))) == wanted  # type: ignore[arg-type]
        for day in range(2, 9):
            first = next((min(one) for one in joined if day in one), day)
            assert spans.first_of(wanted, day) == first
    assert spans.joined_lasts(None, [1]) == {}  # type: ignore[arg-type]


def test_a_window_has_all_days_of_a_span_or_none() -> None:
    for first, last in itertools.product(range(1, 10), repeat=2):
        if first > last:
            continue
        window = set(range(first, last + 1))
        cut = [span for span in SPANS if len(window & set(range(span[0], span[1] + 1))) > 0
               and not window >= set(range(span[0], span[1] + 1))]  # fmt: skip
        for span in SPANS:
            if span not in cut:
                summaries._check_window({span[0]: span[1]}, first, last)
                continue
            with pytest.raises(rumor.InputError) as found:
                summaries._check_window({span[0]: span[1]}, first, last)
            days = " to ".join(str(day_of(day)) for day in span)
            assert str(found.value).endswith(f"it cuts {days}")
