"""Summaries: build, merge, serialise, reload, compare; and what a damaged one says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumor
from rumor.core.errors import InputError
from rumor.core.reports import MAX_REPORTS
from rumor.mechanisms import RandomizedResponse, UnaryEncoding
from rumor.mechanisms.summary import Summary, merge

ORACLE = RandomizedResponse(domain=4, epsilon=1.0)
REPORTS = np.array([[0], [1], [1], [3], [1]], dtype=np.uint8)


def example() -> Summary:
    return Summary.empty(ORACLE, contract="digest", question="homepage").update(REPORTS)


def test_a_summary_counts() -> None:
    summary = example()
    assert summary.reports == 5
    assert summary.tally.tolist() == [1, 3, 0, 1]
    assert summary.update([b"\2"]).tally.tolist() == [1, 3, 1, 1]
    assert summary.reports == 5, "a summary is frozen; updating makes another"
    assert Summary.empty(ORACLE).update([]).reports == 0


def test_wide_unary_counts_bits_and_narrow_counts_reports() -> None:
    """Few different reports are counted whole, since they tell more than their bits."""
    narrow, wide = UnaryEncoding(domain=3, epsilon=1.0), UnaryEncoding(domain=20, epsilon=1.0)
    batch = [b"\5", b"\5", b"\2"]
    summary = Summary.empty(narrow).update(batch)
    assert summary.tally.tolist() == [0, 0, 1, 0, 0, 2, 0, 0]
    assert narrow.support_counts(summary.tally).tolist() == [2, 1, 2]
    bits = Summary.empty(wide).update([r + b"\0\0" for r in batch])
    assert bits.tally.tolist() == [2, 1, 2] + [0] * 17


def test_the_bytes_are_a_line_a_header_and_counters() -> None:
    data = example().to_bytes()
    magic, header, body = data.split(b"\n", 2)
    assert magic == b"rumor summary 1"
    assert header == (
        b'{"contract":"digest","mechanism":{"domain":4,"name":"randomized-response",'
        b'"truth":"' + str(ORACLE.truth).encode() + b'"},"question":"homepage","reports":"5"}'
    )
    assert body == b"".join(count.to_bytes(8, "little") for count in (1, 3, 0, 1))


def test_a_file_gives_back_the_same_summary(tmp_path: Path) -> None:
    path = tmp_path / "monday.rumor"
    example().save(path)
    assert Summary.is_file(path)
    again = Summary.load(path)
    assert again == example()
    assert hash(again) == hash(example())
    assert again != example().update([b"\0"])
    assert again != "something else"
    (tmp_path / "other").write_bytes(b"something else")
    assert not Summary.is_file(tmp_path / "other")
    assert not Summary.is_file(tmp_path / "absent")
    with pytest.raises(InputError, match=r"must be a file that exists; got '.*absent'"):
        Summary.load(tmp_path / "absent")
    with pytest.raises(
        InputError, match=r"other: a summary file must begin with 'rumor summary 1'"
    ):
        Summary.load(tmp_path / "other")


def test_a_year_is_the_sum_of_its_days() -> None:
    day = example()
    year = merge([day] * 365)
    assert year.reports == 5 * 365
    assert year.tally.tolist() == [365, 3 * 365, 0, 365]
    assert (day + day).contract == "digest"
    with pytest.raises(InputError, match="at least one summary; got none"):
        merge([])
    with pytest.raises(TypeError):
        day + 1


def test_batches_add_to_what_was_counted() -> None:
    more = example().update([b"\0", b"\2"])
    assert more.reports == 7
    assert more.tally.tolist() == [2, 3, 1, 1]


def test_only_summaries_of_the_same_thing_add_up() -> None:
    other = Summary.empty(RandomizedResponse(domain=4, epsilon=1.1))
    with pytest.raises(InputError, match=r"same mechanism to be added; got .*randomized-response"):
        example() + other
    with pytest.raises(InputError, match="same contract to be added; got 'digest' and None"):
        example() + Summary.empty(ORACLE, question="homepage")
    with pytest.raises(InputError, match="same question to be added; got 'homepage' and 'x'"):
        example() + Summary.empty(ORACLE, contract="digest", question="x")


def test_one_invalid_report_refuses_the_batch() -> None:
    with pytest.raises(InputError, match=r"integer from 0 to 3; got 1 .* first at index 1"):
        example().update([b"\0", b"\4", b"\1"])
    with pytest.raises(InputError, match=r"a report has 1 bytes; got 1 .* first at index 0"):
        example().update([b"\0\0", b"\1"])


def test_a_summary_counts_at_most_so_many() -> None:
    full = Summary(ORACLE, MAX_REPORTS, np.array([MAX_REPORTS, 0, 0, 0]))
    assert Summary.from_bytes(full.to_bytes()) == full
    with pytest.raises(InputError, match=r"at most 2\^62 reports; got 4,611,686,018,427,387,905"):
        full.update([b"\0"])
    with pytest.raises(InputError, match=r"at most 2\^62 reports"):
        full + full


@given(st.data())
def test_any_damage_to_a_summary_is_noticed_or_harmless(data: st.DataObject) -> None:
    """One byte changed: a sentence, or a summary whose bytes are the ones given."""
    raw = bytearray(example().to_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert Summary.from_bytes(bytes(raw)).to_bytes() == raw
    except InputError as problem:
        assert "\n" not in str(problem).strip()  # noqa: PT017


def header(**changes: object) -> bytes:
    _, line, body = example().to_bytes().split(b"\n", 2)
    changed = json.dumps({**json.loads(line), **changes}, separators=(",", ":"), sort_keys=True)
    return b"rumor summary 1\n" + changed.encode() + b"\n" + body


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "must begin with 'rumor summary 1'; got something else"),
        (b"rumor summary 3\n", "must begin with 'rumor summary 1'"),
        (b"rumor summary 1\n", "header must be intact"),
        (b"rumor summary 1\n" + b"[" * 100_000, "header must be intact"),
        (b"rumor summary 1\n[]\n", "header must be intact"),
        (example().to_bytes().replace(b"summary 1", b"summary 2"), "header must be intact"),
        (header(ids=["b", "a"]), "header must be intact"),
        (header(ids=["a", "b"]), "header must be intact"),
        (header(ids=[1]), "header must be intact"),
        (b"rumor summary 1\n\xff\n", "header must be intact"),
        (example().to_bytes()[:-1], "4 counters of 8 bytes; got 31 bytes"),
        (example().to_bytes() + b"\0", "4 counters of 8 bytes; got 33 bytes"),
        (header(reports="2"), "must be those of its number of reports"),
        (header(reports="-1"), "must be those of its number of reports"),
        (header(reports=str(2**63)), "must be those of its number of reports"),
        (header(reports=5), "header must be intact"),
        (header(reports=" 5"), "header must be intact"),
        (header(reports="5.0"), "header must be intact"),
        (header(contract=5), "header must be intact"),
        (header(question=["a"]), "header must be intact"),
        (header(surprise=1), "header must be intact"),
        (header(mechanism="randomized-response"), "a mechanism must be one of"),
        (header(mechanism={"name": "x"}), "a mechanism must be one of"),
        (header(mechanism={"name": "randomized-response"}), "exactly domain, truth"),
        (example().to_bytes().replace(b'{"con', b'{ "con'), "header must be intact"),
    ],
    ids=lambda item: repr(item)[-40:],
)
def test_a_damaged_summary_says_so(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Summary.from_bytes(data)


def test_counters_below_zero_are_noticed() -> None:
    negative = Summary(ORACLE, 5, np.array([-1, 5, 1, 0]))
    with pytest.raises(InputError, match="must be those of its number of reports"):
        Summary.from_bytes(negative.to_bytes())


def test_estimates_of_a_summary_are_those_of_its_reports() -> None:
    direct = rumor.estimate(ORACLE, REPORTS)
    stored = rumor.estimate(ORACLE, Summary.from_bytes(example().to_bytes()))
    assert direct.frequency.tolist() == stored.frequency.tolist()
    assert direct.reports == stored.reports == 5
    named = ORACLE.with_labels(["a", "b", "c", "d"])
    assert list(rumor.estimate(named, example()).values) == ["a", "b", "c", "d"]
    with pytest.raises(InputError, match="the summary must be of the mechanism given"):
        rumor.estimate(UnaryEncoding(domain=4, epsilon=1.0), example())
    with pytest.raises(InputError, match="at least one report; got none"):
        rumor.estimate(ORACLE, Summary.empty(ORACLE))
    with pytest.raises(InputError, match="at least one report; got none"):
        rumor.estimate(ORACLE, REPORTS[:0])


def test_counters_that_sum_to_twice_the_reports_are_refused() -> None:
    oracle = RandomizedResponse(domain=4, epsilon=1.0)
    twice = Summary(oracle, 100, np.array([50, 50, 50, 50]))
    with pytest.raises(InputError, match="that no 100 reports of 'randomized-response' have"):
        Summary.from_bytes(twice.to_bytes())


def test_a_bit_cannot_be_set_more_often_than_there_are_reports() -> None:
    # Bits of many values are counted one by one, so no sum of the counters shows it.
    oracle = rumor.UnaryEncoding(domain=40, epsilon=1.0)
    assert oracle.counters_per_report is None
    whole = Summary.empty(oracle).update(oracle.privatize([0] * 5, random=rumor.Seeded(1)))
    data = whole.to_bytes()
    assert Summary.from_bytes(data) == whole
    with pytest.raises(InputError, match="must be those of its number of reports"):
        Summary.from_bytes(data[:-8] + (6).to_bytes(8, "little"))
