"""Bodies that are posted: from bytes off the wire to valid rows of id and report.

A request carries reports of one question, so that what one person answers to several is not
linked by it. Few reports come as JSON, ids and reports in base64; many as binary records, 16
bytes of id and then the report, one after the other. Either may be compressed with gzip; what
it decompresses to is bounded before it is made.
"""

from __future__ import annotations

import re
import zlib

import msgspec
import numpy as np

from rumor.collector.http.limits import Limits
from rumor.collector.http.problems import Problem
from rumor.collector.store.base import ID_BYTES
from rumor.contract.collection import Question
from rumor.contract.deletion import KEY_SIZES, report_id
from rumor.contract.groups import Groups
from rumor.core.errors import format_value
from rumor.core.reports import Reports
from rumor.mechanisms import Mechanism

JSON_TYPE = "application/json"
BINARY_TYPE = "application/vnd.rumor.reports"
ENVELOPES_TYPE = "application/vnd.rumor.envelopes"


class JsonReport(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One report of a JSON body."""

    id: bytes
    report: bytes


class JsonReports(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A JSON body with reports."""

    question: str
    reports: list[JsonReport]
    group: int | None = None
    """The number of the reports' combination of groups, where the contract has groups."""


class JsonWithdrawal(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A JSON body with withdrawal keys."""

    question: str
    keys: list[bytes]


_REPORTS = (
    '{"question": text, "reports": [{"id": base64, "report": base64}, ...]} and "group": integer '
    "where there are groups"
)
_KEYS = '{"question": text, "keys": [base64, ...]}'
_PLACE = re.compile(r"\$(\.reports|\.question|\.group|\.keys|\.id|\.report|\[\d+\])*")
_GROUP = re.compile("0|[1-9][0-9]{0,3}")
_decoder = msgspec.json.Decoder(JsonReports)
_withdrawals = msgspec.json.Decoder(JsonWithdrawal)


def decompressed(body: bytes, encoding: str, most: int) -> bytes:
    """Return `body` decompressed, at most `most` bytes of it."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise Problem(
            "unsupported-type",
            f"a body must be sent as it is or compressed with gzip; got {format_value(encoding)}",
        )
    inflate = zlib.decompressobj(wbits=31)
    try:
        plain = inflate.decompress(body, most + 1)
    except zlib.error:
        raise Problem("malformed", "a compressed body must be valid gzip; this is not") from None
    if len(plain) > most:
        raise too_large(most)
    if not inflate.eof or inflate.unused_data:
        raise Problem("malformed", "a compressed body must be one whole gzip stream; this is not")
    return plain


def too_large(most: int) -> Problem:
    """Return the answer to a body past the limit."""
    return Problem(
        "too-large",
        f"a body must have at most {most:,} bytes once decompressed; got more",
    )


def _malformed(what: str, form: str, problem: Exception) -> Problem:
    # Where, but never what: a field that somebody made up may be an answer.
    place = _PLACE.search(str(problem))
    where = f" at {place[0]}" if place else ""
    return Problem("malformed", f"{what} must be {form}; got something else{where}")


def parse_json(body: bytes, limits: Limits) -> JsonReports:
    """Return the decoded JSON `body`, not yet checked against a contract."""
    try:
        decoded = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise _malformed("a JSON body", _REPORTS, problem) from None
    _check_count(len(decoded.reports), limits.json_reports)
    return decoded


def stratum_of(groups: Groups | None, given: int | str | None) -> int | None:
    """Return the stratum that a request gives for its reports, or refuse it.

    `given` is the member `group` of a JSON body, or the header Rumor-Group.
    """
    if groups is None:
        if given is not None:
            raise Problem(
                "invalid-report",
                f"reports of a contract without groups must name none; got {format_value(given)}",
            )
        return None
    named = given if isinstance(given, int) else -1
    if isinstance(given, str) and _GROUP.fullmatch(given):
        named = int(given)
    if not 0 <= named < groups.strata:
        raise Problem(
            "invalid-report",
            f"reports of a contract with groups must name theirs, a number from 0 to "
            f"{groups.strata - 1:,}; got {'none' if given is None else format_value(given)}",
        )
    return named


def parse_withdrawal(body: bytes, limits: Limits) -> tuple[str, Reports]:
    """Return the question, and the ids of the different reports that these keys take back."""
    try:
        decoded = _withdrawals.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise _malformed("a withdrawal", _KEYS, problem) from None
    _check_count(len(decoded.keys), limits.json_reports)
    if any(len(key) not in KEY_SIZES for key in decoded.keys):
        sizes = " or ".join(map(str, KEY_SIZES))
        raise Problem("malformed", f"a key must have {sizes} bytes; got another length")
    ids = b"".join(sorted({report_id(key) for key in decoded.keys}))
    return decoded.question, np.frombuffer(ids, dtype=np.uint8).reshape(-1, ID_BYTES)


def json_rows(reports: list[JsonReport], question: Question) -> Reports:
    """Return the rows of a JSON body's reports."""
    width = question.mechanism.width
    for index, item in enumerate(reports):
        if len(item.id) != ID_BYTES:
            raise Problem(
                "invalid-report",
                f"a report's id must have {ID_BYTES} bytes; got {len(item.id)} at index {index}",
                refused=[index],
            )
        if len(item.report) != width:
            raise Problem(
                "invalid-report",
                f"a report of question {question.id!r} must have {width} bytes; "
                f"got {len(item.report)} at index {index}",
                refused=[index],
            )
    flat = b"".join([part for item in reports for part in (item.id, item.report)])
    return valid_rows(flat, question.mechanism)


def binary_rows(body: bytes, question: Question, limits: Limits) -> Reports:
    """Return the rows of a binary body."""
    size = ID_BYTES + question.mechanism.width
    if len(body) % size:
        raise Problem(
            "malformed",
            f"a binary body for question {question.id!r} must be whole records of {size} bytes "
            f"(16 of id, {size - ID_BYTES} of report); got {len(body)} bytes",
        )
    _check_count(len(body) // size, limits.binary_reports)
    return valid_rows(body, question.mechanism)


def valid_rows(flat: bytes, mechanism: Mechanism) -> Reports:
    """Return records as rows, every report valid for its mechanism."""
    rows = np.frombuffer(flat, dtype=np.uint8).reshape(-1, ID_BYTES + mechanism.width)
    validity = mechanism.validate(np.ascontiguousarray(rows[:, ID_BYTES:]))
    if not validity.all:
        refused = np.flatnonzero(~validity.valid)
        raise Problem(
            "invalid-report",
            f"reports must be valid: {validity.reason}; got {refused.size} that are not, "
            f"the first at index {int(refused[0])}",
            refused=refused[:1000].tolist(),
        )
    return rows


def _check_count(count: int, most: int) -> None:
    if count == 0:
        raise Problem("malformed", "a body must hold at least one report; got none")
    if count > most:
        raise Problem("too-large", f"a body must hold at most {most:,} reports; got {count:,}")
