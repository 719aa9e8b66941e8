"""A store as an older Rumor would have left it: the tables of an earlier schema, refilled.

Every column that the older schema has is copied; what only the newer one has is left behind,
and has to be made anew when the store is migrated.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg

from rumor.collector.store.dialects import postgres, sqlite

# Before it there were no invitations, which a run of the machine may hold.
_VERSION = 2
# Those that others refer to come first.
_TABLES = ("collection", "question", "report", "summary", "mark", "admission")


def rewind(url: str) -> None:
    """Take a store, which nobody has open, back to the schema that had no checksums."""
    if url.startswith("sqlite"):
        _rewind_sqlite(Path(url.removeprefix("sqlite:///")))
    else:
        _rewind_postgres(url)


def _rewind_sqlite(path: Path) -> None:
    old = path.with_name("rewound.db")
    database = sqlite3.connect(old, isolation_level=None)
    for step in sqlite._MIGRATIONS[:_VERSION]:
        database.executescript(step)
    database.execute(f"PRAGMA application_id = {sqlite._APPLICATION}")
    database.execute(f"PRAGMA user_version = {_VERSION}")
    database.execute("ATTACH ? AS newer", (str(path),))
    database.execute("BEGIN")
    for table in (*_TABLES, "sqlite_sequence"):
        columns = ", ".join(row[1] for row in database.execute(f"PRAGMA main.table_info({table})"))
        database.execute(f"DELETE FROM main.{table}")
        database.execute(
            f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}"
        )
    database.execute("COMMIT")
    database.close()
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    old.chmod(0o600)
    old.replace(path)


def _rewind_postgres(url: str) -> None:
    with psycopg.connect(url) as connection:

        def run(statement: str) -> list[tuple[str, ...]]:
            cursor = connection.execute(statement.encode())
            return [] if cursor.description is None else cursor.fetchall()

        run("SET client_min_messages = warning")
        run("ALTER SCHEMA rumor RENAME TO newer")
        run("CREATE SCHEMA rumor")
        run("SET search_path = rumor")
        run("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for number, step in enumerate(postgres._MIGRATIONS[:_VERSION], start=1):
            for statement in step.split(";")[:-1]:
                run(statement)
            run(f"INSERT INTO schema_version VALUES ({number})")
        for table in _TABLES:
            rows = run(
                "SELECT column_name, is_identity FROM information_schema.columns"
                f" WHERE table_schema = 'rumor' AND table_name = '{table}'"
            )
            columns = ", ".join(name for name, _ in rows)
            run(f"DELETE FROM {table}")
            run(
                f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE"
                f" SELECT {columns} FROM newer.{table}"
            )
            for name, identity in rows:
                if identity == "YES":
                    # Numbers go on where they were: what was deleted is not numbered anew.
                    run(
                        f"SELECT setval(pg_get_serial_sequence('rumor.{table}', '{name}'),"
                        f" (SELECT last_value FROM newer.{table}_{name}_seq),"
                        f" (SELECT is_called FROM newer.{table}_{name}_seq))"
                    )
        run("DROP SCHEMA newer CASCADE")
