"""Serve a collection from a store, by the code that PYTHONPATH names, until the input ends.

    PYTHONPATH=SOURCE .venv/bin/python tests/old/run_collector.py STORE CONTRACT

It prints its address. Only names that every version has are used.
"""

from __future__ import annotations

import sys

from rumor import Collection
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store


def main(url: str, contract: str) -> None:
    """Serve until the standard input ends."""
    collection = Collection.load(contract)
    store = open_store(url)
    store.register(collection)
    with background(Service(store, collection.series, summarize_seconds=0.2)) as address:
        print(address, flush=True)
        sys.stdin.read()
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
