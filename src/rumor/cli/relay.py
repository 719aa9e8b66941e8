"""`rumor relay`: envelopes between devices and a collector; `rumor key`: what opens them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, CollectionFile, argument, option
from rumor.cli.serve import MaxConnections, MaxRate, Port, announced, needs_server
from rumor.core.errors import InputError


def relay(
    collection: CollectionFile,
    gateway: Annotated[str, option("--gateway URL", "The collector to forward envelopes to.")],
    token_file: Annotated[
        str, option("--token-file FILE", "The file with the token from the collector.")
    ],
    store: Annotated[
        str, option("--store -s URL", "The store of envelopes: sqlite:///FILE.")
    ] = "sqlite:///relay.db",
    host: Annotated[str, option("--host ADDRESS", "The address to listen on.")] = "127.0.0.1",
    port: Port = 8002,
    every: Annotated[
        float,
        option("--every HOURS", "Hours between two releases, for contracts without turns."),
    ] = 24,
    max_rate: MaxRate = 20_000,
    max_connections: MaxConnections = 1_000,
    as_json: AsJson = False,
) -> None:
    """Forward sealed reports, so that the collector sees no sender.

    An operator other than the collector's should run it. A relay cannot open envelopes; it
    stores no address, and of the time only the day. Every --every hours, it forwards the
    envelopes of each question that has at least `crowd` of them, sorted by their bytes.
    Envelopes older than the contract's `days` are dropped and logged. If the contract has
    turns, --every does not matter: a turn is released when half, and again when 95 %, of the
    following turn has passed; its remaining envelopes are dropped one turn after its end.

    The collection must name this relay. Run the relay again with a revised contract: it also
    takes envelopes of the earlier contracts. With --json, the URL is printed as JSON once the
    relay listens.

    \b
    Example:
      rumor relay contract.json --gateway https://collect.example.org --token-file relay.token
    """
    from rumor.contract.collection import Collection

    contract = Collection.load(collection)
    if contract.relay is None:
        raise InputError(f"a relay needs a collection that names one; {contract.name!r} does not")
    if not 0 < every <= 24 * 365:
        raise InputError(f"--every must be above 0 and at most a year of hours; got {every:g}")
    read_token(token_file)
    try:
        from rumor.collector.http.limits import Limits
        from rumor.collector.http.server import listen
        from rumor.collector.http.server import serve as run
        from rumor.collector.relay.service import RelayService
        from rumor.collector.relay.store import RelayStore
    except ImportError as problem:
        raise needs_server(problem) from None
    with listen(host, port) as listener, closing(RelayStore(store)) as opened:
        opened.register(contract)
        service = RelayService(
            opened,
            gateway,
            lambda: read_token(token_file),
            every * 3600,
            min(5.0, every * 1800),
            limits=Limits(requests_per_second=max_rate, connections=max_connections),
        )

        def ready(url: str) -> None:
            what = f"relaying {contract.name!r} ({contract.digest[:16]}...) to {gateway}"
            announced(what, url, contract, as_json)

        run(service, listener, ready)


def read_token(path: str) -> str:
    """Return the one token in the file at `path`."""
    words = Path(path).read_text(encoding="utf-8").split()
    if len(words) != 1 or not words[0].isascii():
        raise InputError(
            f"a relay's token file must hold the one token that rumor token printed; {path!r} "
            f"does not"
        )
    return words[0]


def key(
    file: Annotated[str, argument("FILE", "The key file of a collector's gateway.")],
    as_json: AsJson = False,
) -> None:
    """Make a key pair for envelopes and print the public key.

    The private key is added to the file, which only you can read. Contracts that name earlier
    keys of the file stay valid. Anyone with the file can open the envelopes of these contracts.

    \b
    Example:
      rumor key gateway.pem
    """
    from rumor.collector.gateway import add_key

    made = add_key(file)
    if as_json:
        print_json({"key": made})
    else:
        print(made)
