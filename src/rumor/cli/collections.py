"""`rumor collections`: what a store holds, and the steps of a collection's life."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, argument, option
from rumor.cli.serve import DEFAULT_STORE, StoreUrl, store_at
from rumor.core.errors import InputError, format_value

if TYPE_CHECKING:
    from rumor.collector.store.base import Store, StoredCollection


Action = Annotated[str, argument("ACTION", "What to do: list, revise, advance, close or delete.")]
CollectionsWhat = Annotated[
    str | None,
    argument(
        "WHAT",
        "To revise: the new collection file. To advance, close or delete: a digest, or "
        "its first characters.",
    ),
]


def collections(
    action: Action = "list",
    what: CollectionsWhat = None,
    store: StoreUrl = DEFAULT_STORE,
    yes: Annotated[
        bool, option("--yes", "Confirm the deletion of all reports and counts.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List, revise, close or delete the collections of a store.

    A revision is a new contract of the same series. Running collectors serve it within a
    second; reports made under the old one are taken until that is closed, and nobody's
    permanent answers change. Advancing does the same for PrivKVM: it publishes the means of
    a round in the contract of the next one. Closing is final: no more reports, estimates
    remain. Deleting removes reports, counts and ids.

    \b
    Example:
      rumor collections list --store sqlite:///rumor.db
      rumor collections revise examples/browser.toml
      rumor collections close 72d716028d5d
      rumor collections delete 72d716028d5d --yes
    """
    if action not in _STEPS and action != "list":
        names = ", ".join(("list", *_STEPS))
        raise InputError(f"an action must be one of {names}; got {format_value(action)}")
    if (what is None) != (action == "list"):
        wanted = "nothing after it" if action == "list" else "a collection after it"
        raise InputError(f"{action} needs {wanted}; got {format_value(what)}")
    with closing(store_at(store)) as opened:
        said = None
        if what is not None:
            said = _STEPS[action](opened, what, yes)
        opened.summarize()
        entries = opened.collections()
        counts = [
            {
                question.id: opened.summary(entry, question.id).reports
                for question in entry.collection.questions
            }
            for entry in entries
        ]
    if as_json:
        print_json({"collections": [_facts(*pair) for pair in zip(entries, counts, strict=True)]})
    else:
        print(said or _table(entries, counts))


def _revise(store: Store, path: str, yes: bool) -> str:
    from rumor.contract.collection import Collection

    contract = Collection.load(path)
    known = [entry.collection for entry in store.collections()]
    series = [each for each in known if each.series == contract.series]
    if not series:
        raise InputError(
            f"a revision must be of a series that the store has; got {contract.series!r}"
        )
    contract.check_revises(series[-1])
    store.register(contract, revise=True)
    done = f"{contract.digest} is now the contract of series {contract.series!r}"
    try:
        series[-1].sender_anonymity.check_not_weaker(contract.sender_anonymity, contract.series)
    except InputError as problem:
        return f"{done}\nDevices that answered before will not take it: {problem}"
    return done


def _advance(store: Store, digest: str, yes: bool) -> str:
    from rumor.collector.next_round import advance

    entry = advance(store, digest)
    return f"{entry.collection.digest} is the next round of series {entry.collection.series!r}"


def _close(store: Store, digest: str, yes: bool) -> str:
    found = store.find(digest).collection
    store.close_collection(found.digest)
    return f"{found.digest} is closed"


def _delete(store: Store, digest: str, yes: bool) -> str:
    found = store.find(digest).collection
    if not yes:
        raise InputError(f"deleting {found.name!r} cannot be undone; add --yes to do it")
    store.delete_collection(found.digest)
    return f"{found.digest} is deleted"


_STEPS: dict[str, Callable[[Store, str, bool], str]] = {
    "revise": _revise,
    "advance": _advance,
    "close": _close,
    "delete": _delete,
}


def _facts(entry: StoredCollection, counts: dict[str, int]) -> dict[str, object]:
    return {
        "digest": entry.collection.digest,
        "series": entry.collection.series,
        "name": entry.collection.name,
        "state": entry.state,
        "reports": counts,
    }


def _table(entries: list[StoredCollection], counts: list[dict[str, int]]) -> str:
    from rumor.core.plain_text import aligned, one_line

    rows = [
        (
            entry.collection.digest[:16],
            entry.collection.series,
            one_line(entry.collection.name),
            entry.state,
            f"{sum(count.values()):,}",
        )
        for entry, count in zip(entries, counts, strict=True)
    ]
    head = ("digest", "series", "name", "state", "reports")
    return aligned(head, rows, left=(0, 1, 2, 3)) if rows else "no collections yet"
