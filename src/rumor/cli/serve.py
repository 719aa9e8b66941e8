"""`rumor serve`: a collector that takes reports over HTTP; `rumor token`: who may estimate."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, CollectionFile, argument, count, option
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED

if TYPE_CHECKING:
    from rumor.collector.gateway import Gateway
    from rumor.collector.store.base import Store
    from rumor.contract.collection import Collection

DEFAULT_STORE = "sqlite:///rumor.db"

StoreUrl = Annotated[
    str,
    option(
        "--store -s URL",
        "The store of reports: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    ),
]


def store_at(url: str, *, check: bool = True) -> Store:
    """Return the store at a URL, which must be there, or the sentence that says what to install."""
    try:
        from rumor.collector.store.base import open_store
    except ImportError as problem:
        raise needs_server(problem) from None
    file = url.removeprefix("sqlite:///")
    if file not in ("", url) and not Path(file).exists():
        raise InputError(f"a store must exist; there is none at {url!r} (rumor serve makes one)")
    return open_store(url, check=check)


def made_store(url: str) -> AbstractContextManager[Store]:
    """Return the store at a URL, made if missing; a new file appears when the block ends."""
    try:
        from rumor.collector.store.base import filled_store
    except ImportError as problem:
        raise needs_server(problem) from None
    return filled_store(url)


def needs_server(problem: ImportError) -> InputError:
    """Return the sentence for a missing package."""
    return InputError(f"a collector needs pip install 'rumor[server]'; {problem.name} is missing")


Port = Annotated[int, count("--port PORT", "The port to listen on (0: any).", min=0, max=65535)]
AnalystTokenFile = Annotated[
    str | None,
    option(
        "--analyst-token-file FILE",
        "Hashes of the tokens that may read estimates. If FILE does not exist, it is made, and a "
        "first token is written to FILE.first, readable by you alone.",
    ),
]
Dictionary = Annotated[
    str | None,
    option("--dictionary FILE", "Candidate words for text questions, one per line."),
]
MaxRate = Annotated[
    float, count("--max-rate N", "The largest number of requests per second.", min=1)
]
MaxConnections = Annotated[
    int, count("--max-connections N", "The largest number of connections.", min=1)
]


def serve(
    collection: CollectionFile,
    store: StoreUrl = DEFAULT_STORE,
    host: Annotated[str, option("--host ADDRESS", "The address to listen on.")] = "127.0.0.1",
    port: Port = 8000,
    analyst_token_file: AnalystTokenFile = None,
    dictionary: Dictionary = None,
    gateway_key: Annotated[
        str | None, option("--gateway-key FILE", "The key that opens envelopes (see rumor key).")
    ] = None,
    relay_token_file: Annotated[
        str | None,
        option("--relay-token-file FILE", "Hashes of the relays' tokens (see rumor token)."),
    ] = None,
    users: Annotated[
        int | None,
        count(
            "--users N",
            "The number of reports that the dashboard's intervals for any look are planned for, "
            f"fixed when the first report arrives (default: {PLANNED:,}).",
            min=1,
        ),
    ] = None,
    max_rate: MaxRate = 20_000,
    max_connections: MaxConnections = 1_000,
    as_json: AsJson = False,
) -> None:
    """Run a collector that stores each report exactly once.

    Nothing about a sender is stored or logged: no address, no header, no exact time. A report
    is acknowledged when it is durable. People can answer in a browser at /answer, and analysts
    with a token have a dashboard at /. Put a reverse proxy with TLS in front of it. With --json,
    the URL is printed as JSON once the collector listens.

    \b
    Example:
      rumor serve examples/browser.toml --analyst-token-file tokens
      rumor answer http://127.0.0.1:8000 homepage
      curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8000/v1/estimates/homepage
    """
    from rumor.contract.collection import Collection

    contract = Collection.load(collection)
    try:
        from rumor.collector.http.limits import Limits
        from rumor.collector.http.server import listen
        from rumor.collector.http.server import serve as run
        from rumor.collector.service import Service
        from rumor.collector.tokens import Tokens, first_token
    except ImportError as problem:
        raise needs_server(problem) from None
    gateway = _gateway(contract, gateway_key, relay_token_file)
    words = None if dictionary is None else read_dictionary(dictionary)
    with ExitStack() as running:
        # Whatever can fail comes before anything is made, and what is made appears together.
        listener = running.enter_context(listen(host, port))
        first = None
        with ExitStack() as making:
            if analyst_token_file is not None and not Path(analyst_token_file).exists():
                first = making.enter_context(first_token(analyst_token_file))
            elif analyst_token_file is not None:
                Tokens(analyst_token_file)
            opened = running.enter_context(closing(registered(store, contract, users)))
        tokens = None if analyst_token_file is None else Tokens(analyst_token_file)
        if first is not None:
            # Not printed: what is printed ends up in logs.
            say(f"the first analyst's token is in {str(first)!r}; read it and delete the file")
        # Asked before anybody is served: later, a store that is away for a moment must not matter.
        entry = opened.find(contract.digest)
        is_open = entry.open
        if users not in (None, entry.users):
            say(f"--users stays {entry.users:,}: it was fixed when the first report arrived")
        service = Service(
            opened,
            contract.series,
            tokens=tokens,
            dictionary=words,
            limits=Limits(requests_per_second=max_rate, connections=max_connections),
            gateway=gateway,
        )

        def ready(url: str) -> None:
            look = "" if tokens is None else f", analysts look at {url}/"
            more = [] if is_open else ["this collection is closed: it takes no more reports"]
            more.append(f"people answer at {url}/answer{look}")
            what = f"serving {contract.name!r} ({contract.digest[:16]}...)"
            announced(what, url, contract, as_json, more)

        run(service, listener, ready)


def announced(
    what: str, url: str, contract: Collection, as_json: bool, more: Sequence[str] = ()
) -> None:
    """Say what listens where, to people and, where they asked for it, to programs."""
    for line in (f"{what} at {url}", *more):
        say(line)
    if as_json:
        print_json({"url": url, "collection": contract.digest})
        sys.stdout.flush()


def _gateway(contract: Collection, key_file: str | None, tokens: str | None) -> Gateway | None:
    """Return the gateway that opens the envelopes of `contract`, or None without a relay.

    A collection with a relay takes reports in envelopes only.
    """
    if key_file is None and tokens is None and contract.relay is None:
        return None
    if key_file is None or tokens is None:
        raise InputError(
            f"a collection with a relay needs --gateway-key FILE and --relay-token-file FILE; "
            f"got {'neither' if key_file is tokens else 'one of them'}"
        )
    from rumor.collector.gateway import Gateway, read_keys
    from rumor.collector.tokens import Tokens

    gateway = Gateway(read_keys(key_file), Tokens(tokens))
    gateway.check(contract)
    return gateway


def registered(url: str, contract: Collection, users: int | None = None) -> Store:
    """Return the store at a URL with `contract` in it; a new file appears with it or not at all.

    The contract is planned for `users`, unless it has reports already.
    """
    file = url.removeprefix("sqlite:///")
    if file not in ("", url) and not Path(file).exists():
        try:
            with made_store(url) as new:
                new.register(contract, users=users)
        except InputError:
            if not Path(file).exists():
                raise  # else another collector, started at the same time, was quicker
    opened = store_at(url)
    try:
        opened.register(contract, users=users)
    except BaseException:
        opened.close()
        raise
    return opened


def token(
    file: Annotated[str, argument("FILE", "The token file of a collector.")],
    name: Annotated[str, option("--name NAME", "The holder of the token.")] = "analyst",
    as_json: AsJson = False,
) -> None:
    """Make a token for an analyst; the file keeps its hash.

    Running collectors take it up at once. To take a token back, delete its line in the file.

    \b
    Example:
      rumor token tokens --name alice
    """
    try:
        from rumor.collector.tokens import add_token
    except ImportError as problem:
        raise needs_server(problem) from None
    made = add_token(file, name)
    if as_json:
        print_json({"name": name, "token": made})
    else:
        print(made)


def read_dictionary(path: str) -> list[str]:
    """Return candidates, one in each line; empty lines say nothing."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"a dictionary must be UTF-8 text; {path!r} is not") from None
    words = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not words:
        raise InputError(f"a dictionary must have at least one candidate; {path!r} has none")
    return words


def say(text: str) -> None:
    """Print one line of a server's log."""
    print(f"rumor: {text}", file=sys.stderr, flush=True)
