"""The collections that a SQL store knows: made known, found, closed, deleted."""

from __future__ import annotations

from collections.abc import Sequence

from rumor.collector.store.base import StoredCollection, stored_questions
from rumor.collector.store.checksums import damage_error
from rumor.collector.store.database import Database
from rumor.collector.store.tables import SPEND, Run
from rumor.contract.collection import Collection
from rumor.core.blind_rsa import PublicKey
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED
from rumor.mechanisms import Mechanism


def register(
    database: Database, collection: Collection, *, revise: bool, users: int | None
) -> StoredCollection:
    """Make a collection known that is planned for `users`, or find it known already.

    Without a number, a revision has that of the collection before it. Once there are reports the
    number stays, whatever `users` says.
    """
    with database.writing(alone=True) as run:
        rows = run(
            "SELECT digest, users FROM collection WHERE series = ? ORDER BY number",
            collection.series,
        )
        digests = [digest for digest, _ in rows]
        if collection.digest not in digests:
            if digests and not revise:
                raise InputError(
                    f"a store takes another contract of series {collection.series!r} only as "
                    f"a revision (rumor collections revise); got digest "
                    f"{collection.digest[:16]}..., it has {digests[-1][:16]}..."
                )
            _check_keys(read_collections(database, run), collection)
            collection.check_batch_size()
            before = rows[-1][1] if rows else PLANNED
            add_collection(run, collection, users=before if users is None else users)
        elif users is not None:
            run(
                "UPDATE collection SET users = ? WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM"
                " question JOIN report ON report.question = question.number"
                " WHERE question.collection = collection.number)",
                users,
                collection.digest,
            )
    return find(database, collection.digest)


def token_key(collection: Collection, question: str) -> PublicKey | None:
    """Return the issuer's key whose tokens admit to a question, where there is an issuer."""
    return None if collection.issuer is None else collection.issuer.keys.get(question)


def keeps_ids(known: Sequence[StoredCollection], entry: StoredCollection, question: str) -> bool:
    """Return whether the ids of deleted reports to a question must stay.

    They keep reports from coming back while the collection is open, and tokens from being spent
    again while any open collection of the series takes tokens of the same key.
    """
    is_open = any(each.open for each in known if each.number == entry.number)
    return is_open or heir(known, entry, question) is not None


def heir(known: Sequence[StoredCollection], entry: StoredCollection, question: str) -> int | None:
    """Return the number of a question of another open collection that takes the same tokens."""
    key = token_key(entry.collection, question)
    if key is None:
        return None
    others = [each for each in known if each.open and each.number != entry.number]
    return next((number for other in others for _, number in _same_key(other, entry, key)), None)


def _same_key(
    other: StoredCollection, entry: StoredCollection, key: PublicKey
) -> list[tuple[str, int]]:
    """Return id and number of the questions of another collection of the series with a key."""
    if other.collection.series != entry.collection.series:
        return []
    return [each for each in other.questions.items() if token_key(other.collection, each[0]) == key]


def token_siblings(
    known: Sequence[StoredCollection], entry: StoredCollection, question: str
) -> set[int]:
    """Return the numbers of questions of other collections that take or took the same tokens."""
    key = token_key(entry.collection, question)
    others = [each for each in known if each.number != entry.number]
    return set() if key is None else {n for o in others for _, n in _same_key(o, entry, key)}


def _check_keys(known: Sequence[StoredCollection], collection: Collection) -> None:
    """Refuse an issuer's key whose spent tokens have been forgotten."""
    series = [each for each in known if each.collection.series == collection.series]
    for question in collection.questions:
        key = token_key(collection, question.id)
        users = [
            each
            for each in series
            if key is not None
            and any(token_key(each.collection, id) == key for id in each.questions)
        ]
        if users and not any(each.open for each in users):
            raise InputError(
                f"a revision must not take tokens of a key whose collections are all closed, "
                f"since the store has forgotten which of them were spent; the key of question "
                f"{question.id!r} is such a one: make new keys (rumor issue keys), and next time "
                f"revise before you close"
            )


def add_collection(
    run: Run, collection: Collection, *, open: bool = True, users: int = PLANNED
) -> dict[str, int]:
    """Add a collection; return the numbers of its questions, by their ids."""
    (number,) = run(
        "INSERT INTO collection (digest, series, contract, open, users) VALUES (?, ?, ?, ?, ?)"
        " RETURNING number",
        collection.digest,
        collection.series,
        collection.canonical().decode(),
        int(open),
        users,
    )[0]
    insert = "INSERT INTO question (collection, id) VALUES (?, ?) RETURNING number"
    return {name: run(insert, number, name)[0][0] for name in stored_questions(collection)}


def read_collections(database: Database, run: Run) -> list[StoredCollection]:
    """Return every collection, oldest first, as a transaction sees them."""
    # One statement sees one moment, whoever deletes a collection meanwhile.
    rows = run(
        "SELECT collection.number, digest, series, open, users, question.id, question.number"
        " FROM collection LEFT JOIN question ON question.collection = collection.number"
        " ORDER BY collection.number, question.number"
    )
    newest = {row[2]: row[0] for row in rows}
    questions: dict[int, dict[str, int]] = {}
    for number, *_, id, question in rows:
        questions.setdefault(number, {})[id] = question
    known = []
    for number, digest, series, is_open, users in dict.fromkeys(row[:5] for row in rows):
        contract = database.contracts.get(digest) or _read_contract(database, run, digest)
        if contract is None:  # deleted a moment ago
            continue
        if questions[number].keys() != stored_questions(contract).keys():
            raise damage_error(f"collection {digest[:16]}... has not the questions of its contract")
        current = newest[series] == number
        mine = questions[number]
        known.append(
            StoredCollection(number, contract, bool(is_open), current, mine, users=int(users))
        )
    return known


def mechanisms(database: Database, run: Run) -> dict[int, Mechanism]:
    """Return the mechanism of every question, by the question's number."""
    return {
        entry.questions[name]: question.mechanism
        for entry in read_collections(database, run)
        for name, question in stored_questions(entry.collection).items()
    }


def _read_contract(database: Database, run: Run, digest: str) -> Collection | None:
    """Return a stored contract, which must have the digest that it is stored under."""
    rows = run("SELECT contract FROM collection WHERE digest = ?", digest)
    if not rows:
        return None
    try:
        contract = Collection.from_json(rows[0][0])
    except (InputError, TypeError, UnicodeError):
        contract = None
    if contract is None or contract.digest != digest:
        raise damage_error(f"the contract of {str(digest)[:16]}... does not fit its digest")
    database.contracts[digest] = contract
    return contract


def find(database: Database, digest: str) -> StoredCollection:
    """Return the collection whose digest begins so."""
    with database.reading() as run:
        known = read_collections(database, run)
    found = [entry for entry in known if entry.collection.digest.startswith(digest)]
    if len(found) != 1 or not digest:
        raise InputError(
            f"a digest must name one of the store's {len(known)} collections; "
            f"got {digest[:64]!r}, which names {len(found) if digest else 'none'}"
        )
    return found[0]


def close_collection(database: Database, digest: str) -> None:
    """Take no more reports; forget the ids that have done their work, here and in revisions."""
    entry = find(database, digest)
    with database.writing(alone=True) as run:
        run("UPDATE collection SET open = 0 WHERE number = ?", entry.number)
        known = read_collections(database, run)
        for id, number in entry.questions.items():
            if heir(known, entry, id) is None:
                for each in (number, *sorted(token_siblings(known, entry, id))):
                    run("DELETE FROM report WHERE question = ? AND report IS NULL", each)
                    run("DELETE FROM early_withdrawal WHERE question = ?", each)
    database.dialect.tidy()


def delete_collection(database: Database, digest: str) -> None:
    """Delete a collection with all that belongs to it."""
    entry = find(database, digest)
    with database.writing(alone=True) as run:
        run("UPDATE mark SET number = number")  # nobody counts meanwhile
        known = read_collections(database, run)
        for id, number in entry.questions.items():
            follower = heir(known, entry, id)
            if follower is not None:  # its tokens stay spent
                run(f"{SPEND}, question = ? WHERE question = ?", follower, number)
            for table in ("report", "summary", "span", "drop_count", "early_withdrawal"):
                run(f"DELETE FROM {table} WHERE question = ?", number)
        run("DELETE FROM question WHERE collection = ?", entry.number)
        run("DELETE FROM collection WHERE number = ?", entry.number)
        series = entry.collection.series
        if not run("SELECT 1 FROM collection WHERE series = ?", series):
            run("DELETE FROM admission WHERE series = ?", series)
            people = "SELECT person FROM invited WHERE series = ?"
            run(f"DELETE FROM issued WHERE person IN ({people})", series)
            run("DELETE FROM invited WHERE series = ?", series)
    database.dialect.tidy()
