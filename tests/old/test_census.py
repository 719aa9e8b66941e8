"""Of every version of every format that the code reads there is an artefact, which tests read.

The versions are the code's own: its tables of migrations, and the constants that readers compare
with. docs/reference/stable.md must name the newest of each.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator

import pyarrow.parquet as pq
import pytest

from rumor.client import ledger
from rumor.collector import backup, issuer_keys
from rumor.collector.relay import store as relay_store
from rumor.collector.store.dialects import postgres, sqlite
from rumor.contract import collection, envelope, report_file, report_parts
from rumor.core import secret
from rumor.mechanisms import summary
from tests.javascript import CLIENT
from tests.old.kept import HERE

STABLE = HERE.parent.parent / "docs" / "reference" / "stable.md"


def numbers(count: int) -> set[int]:
    """Return the versions 1 to `count`."""
    return set(range(1, count + 1))


def states_read() -> set[int]:
    """Return the versions of a browser's state that its checks know."""
    text = (CLIENT / "state.js").read_text("utf-8")
    (checks,) = re.findall(r"const IS_VALID = \{\n(.*?)\n\};", text, re.DOTALL)
    return {int(number) for number in re.findall(r"^  (\d+): ", checks, re.MULTILINE)}


READ: dict[str, set[int]] = {
    "ledger of a device": numbers(ledger._VERSION),
    "state of a browser": states_read(),
    "secret of a device": {int(secret._HEADER.split()[-1])},
    "store in SQLite": numbers(len(sqlite._MIGRATIONS)),
    "store in PostgreSQL": numbers(len(postgres._MIGRATIONS)),
    "store of a relay": numbers(len(relay_store._SCHEMA.steps)),
    "keys of an issuer": {issuer_keys._VERSION},
    "contract": {collection.VERSION},
    "envelope": {int(each.split()[-1]) for each in (envelope._INFO, envelope._INFO_OF_TURN)},
    "reports file": {int(report_file.VERSION)},
    "folder of parts": {int(report_parts._VERSION.split()[-1])},
    "ledger of people": {1},
    "summary": {int(each.split()[-1]) for each in (summary._MAGIC, summary._MAGIC_WITH_IDS)},
    "export": {backup._VERSION},
}
"""By format, the versions that the present code reads."""


def databases(pattern: str) -> Iterator[int]:
    """Yield the schema's version of every packed SQLite file that `pattern` finds."""
    for path in HERE.glob(pattern):
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            file.write(gzip.decompress(path.read_bytes()))
            file.flush()
            connection = sqlite3.connect(file.name)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.close()
            yield version


def found(pattern: str, regex: str) -> Iterator[int]:
    """Yield the first number that `regex` finds in each file that `pattern` finds."""
    for path in HERE.glob(pattern):
        match = re.search(regex.encode(), path.read_bytes())
        if match is not None:
            yield int(match[1])


def metadata(pattern: str, key: bytes) -> Iterator[int]:
    """Yield what the metadata of Parquet files say under `key`."""
    for path in HERE.glob(pattern):
        said = pq.read_schema(path).metadata or {}
        if key in said:
            yield int(said[key])


def kept() -> dict[str, set[int]]:
    """Return, by format, the versions of the artefacts, as they say it themselves."""
    dumps = r"INSERT INTO rumor\.schema_version VALUES \((\d+)\);(?!.*schema_version VALUES)"
    return {
        "ledger of a device": {*databases("ledgers/v*/device/ledger.sqlite3.gz")},
        "state of a browser": {
            json.loads(path.read_text())["state"]["rumor"] for path in HERE.glob("browser/*.json")
        },
        "secret of a device": {*found("ledgers/v*/device/secret", r"^rumor secret (\d+)\n")},
        "store in SQLite": {*databases("*/store.db.gz"), *databases("stores/*/store.db.gz")},
        "store in PostgreSQL": {*found("**/postgresql.sql", f"(?s){dumps}")},
        "store of a relay": {*databases("*/relay.db.gz"), *databases("*/turns.db.gz")},
        "keys of an issuer": {*found("*/issuer.json", r'"rumor": (\d+)')},
        "contract": {*found("*/contracts/*.json", r'"rumor":(\d+)')},
        "envelope": {
            *(1 for _ in HERE.glob("*/relayed.envelope")),
            *(2 for _ in HERE.glob("*/turning.envelope")),
        },
        "reports file": {*metadata("*/reports.parquet", b"rumor.version")},
        "folder of parts": {*found("*/parts/_run.json", r'"rumor parts (\d+)"')},
        "ledger of people": {*metadata("*/people.ledger", b"rumor.people")},
        "summary": {*found("*/*.summary", r"^rumor summary (\d+)\n")},
        "export": {*found("*/export/state.json", r'"rumor export": (\d+)')},
    }


@pytest.mark.parametrize("name", READ)
def test_there_is_an_artefact_of_every_version_that_is_read(name: str) -> None:
    """A reader that is removed leaves an artefact too many, a new one lacks its artefact."""
    assert kept()[name] == READ[name]


def test_the_page_of_what_is_stable_names_the_newest_versions() -> None:
    rows = dict(
        re.findall(r"^\| ([\w ,]+?) \|.*?\| ((?:\d+)(?: to \d+)?) \|", STABLE.read_text(), re.M)
    )
    for name, versions in READ.items():
        low, high = min(versions), max(versions)
        assert rows[name] == (str(low) if low == high else f"{low} to {high}"), name
