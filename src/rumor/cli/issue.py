"""`rumor issue`: tokens for the invited that nobody can trace; the issuer's own process."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import ending_cleanly, print_json
from rumor.cli.invitation_files import InvitationPage
from rumor.cli.options import AsJson, CollectionFile, argument, opt, opt_count, option
from rumor.cli.serve import MaxConnections, Port, announced, made_store, needs_server, registered
from rumor.core.errors import InputError, format_value

if TYPE_CHECKING:
    from rumor.collector.issuer_keys import IssuerKeys
    from rumor.contract.collection import Collection

_DEFAULT_STORE = "sqlite:///issuer.db"
# People that are kept in one commit.
_CHUNK = 2_000

Action = Annotated[str, argument("ACTION", "What to do: keys, invite or serve.")]
KeyFile = Annotated[
    str, option("--keys FILE", "The issuer's secret keys, which only you can read.")
]
IssuerStore = Annotated[
    str,
    option(
        "--store -s URL",
        "The store of invitations: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    ),
]


@dataclass(frozen=True)
class IssueOptions:
    """Options for an issuer's keys and invitations."""

    url: str | None = opt("--url URL", "The address at which devices reach the issuer (keys).")
    out: str | None = opt("--out -o FILE", "The file to write, one invitation per line (invite).")
    count: int = opt_count(
        "--count -n N", "The number of invitations (invite).", default=1, min=1, max=1_000_000
    )
    unbound: bool = opt(
        "--unbound",
        "Make invitations that are not bound to this issuer, for older devices (invite).",
        default=False,
    )


@dataclass(frozen=True)
class ListenOptions:
    """Options for the issuer's address and limits."""

    host: str = opt("--host ADDRESS", "The address to listen on (serve).", default="127.0.0.1")
    port: Port = 8001
    max_connections: MaxConnections = 200


def issue(
    action: Action,
    collection: CollectionFile,
    keys: KeyFile = "issuer.keys",
    store: IssuerStore = _DEFAULT_STORE,
    *,
    making: IssueOptions,
    handed_out: InvitationPage,
    listening: ListenOptions,
    as_json: AsJson = False,
) -> None:
    """Run an issuer of blind tokens, which cannot be traced.

    For collections with admission = "blind". Run the issuer apart from the collector, best by
    another operator. `keys` makes a secret key for each question, and writes the public keys
    into the collection's .toml file, as its [issuer]. `invite` makes invitations, one for each
    respondent. `serve` signs the tokens of invited devices without seeing them. Each invitation
    gets its tokens once; a device that asks again gets the same tokens again.

    \b
    Example:
      rumor issue keys survey.toml --url https://issue.example.org
      rumor issue invite survey.toml --count 500 --out invitations.txt
      rumor issue serve survey.toml
    """
    if action == "keys":
        said = _keys(collection, keys, making.url)
    elif action == "invite":
        said = _invite(collection, store, making, handed_out)
    elif action == "serve":
        _serve(collection, keys, store, listening, as_json)
        return
    else:
        raise InputError(
            f"an action must be one of keys, invite, serve; got {format_value(action)}"
        )
    if as_json:
        print_json(said)
    else:
        print(said["said"])


def _keys(collection: str, keys: str, url: str | None) -> dict[str, object]:
    """Make the keys that are missing, and write what everybody may know into the collection."""
    from rumor.collector.issuer_keys import IssuerKeys
    from rumor.contract.addresses import checked_url
    from rumor.contract.collection import Collection
    from rumor.contract.issuing import Issuer
    from rumor.core.files import readable, write_whole

    path = Path(collection)
    if path.suffix != ".toml":
        raise InputError(f"keys are written into a .toml file; got {collection!r}")
    if url is None:
        raise InputError("keys need --url, where devices will find the issuer; got none")
    checked_url(url, "an issuer")
    with readable("a collection file", path):
        text = path.read_text(encoding="utf-8")
    try:
        spec = tomllib.loads(text)
    except ValueError as problem:
        raise InputError(f"a collection must be valid TOML; {problem}") from None
    if spec.get("admission") != "blind":
        raise InputError(
            f'keys need a collection with admission = "blind"; '
            f"got {format_value(spec.get('admission', 'open'))}"
        )
    if "issuer" in spec:
        raise InputError(
            f"keys are written once; {collection!r} has an [issuer] already (take it out to write "
            f"it anew: what is in {keys!r} is kept)"
        )
    try:
        open_one = Collection.resolve({**spec, "admission": "open"})
    except InputError as problem:
        raise InputError(f"{collection}: {problem}") from None
    held = IssuerKeys.load(keys) if Path(keys).exists() else IssuerKeys(open_one.series, {})
    if held.series != open_one.series:
        raise InputError(
            f"a key file is of one series; {keys!r} is of {held.series!r}, and this collection of "
            f"{open_one.series!r}"
        )
    ids = [question.id for question in open_one.questions]
    made = held.with_new(ids)
    public = Issuer(url, {id: made.secrets[id].public for id in ids})
    whole = f"{text.rstrip()}\n\n{_table(public.contract())}"
    # Refused before anything is written.
    contract = Collection.from_toml(whole)
    made.save(keys)
    write_whole(path, whole.encode())
    said = f"{len(ids)} keys are in {keys}, and their public parts in {collection}"
    return {"said": said, "keys": keys, "collection": contract.digest}


def _table(issuer: Mapping[str, object]) -> str:
    """Return the [issuer] of a collection, as TOML."""
    keys = issuer["keys"]
    assert isinstance(keys, dict)
    lines = [f'{id} = "{modulus}"' for id, modulus in keys.items()]
    return "\n".join(["[issuer]", f'url = "{issuer["url"]}"', "[issuer.keys]", *lines, ""])


def _blind(collection: str) -> Collection:
    from rumor.contract.collection import Collection

    contract = Collection.load(collection)
    if contract.issuer is None:
        raise InputError(
            f'an issuer needs a collection with admission = "blind"; {contract.name!r} has '
            f"{contract.admission!r}"
        )
    return contract


def _invite(
    collection: str, store: str, making: IssueOptions, handed_out: InvitationPage
) -> dict[str, object]:
    """Make invitations; the store keeps of each person what nobody can enrol with."""
    from rumor.contract.admission import new_invitation
    from rumor.contract.issuing import credential_digest, enrolment_credential

    contract, out = _blind(collection), making.out
    if out is None:
        raise InputError("invitations need --out, the file to write them to; got none")
    handed_out.check(out)
    codes = [new_invitation(bound=not making.unbound) for _ in range(making.count)]
    people = [credential_digest(enrolment_credential(contract, code)) for code in codes]
    with ending_cleanly(), made_store(store) as opened:
        opened.register(contract)
        for start in range(0, len(people), _CHUNK):
            opened.invite(contract.series, people[start : start + _CHUNK])
        # Only now: a person who has no invitation does no harm.
        handed_out.write(out, contract, codes)
        invited = opened.invited(contract.series)
    said = f"{making.count:,} invitations written to {out}; {invited:,} people are invited in total"
    return {"said": said, "invitations": making.count, "file": out, "invited": invited}


def _serve(collection: str, keys: str, store: str, listening: ListenOptions, as_json: bool) -> None:
    contract = _blind(collection)
    try:
        from rumor.collector.http.limits import Limits
        from rumor.collector.http.server import listen
        from rumor.collector.http.server import serve as run
        from rumor.collector.issuer_keys import IssuerKeys
        from rumor.collector.issuing import IssuerService
    except ImportError as problem:
        raise needs_server(problem) from None
    held: IssuerKeys = IssuerKeys.load(keys)
    held.of(contract)
    with ExitStack() as running:
        socket = listen(listening.host, listening.port, "an issuer")
        listener = running.enter_context(socket)
        opened = running.enter_context(closing(registered(store, contract)))
        limits = Limits(requests_per_second=100, connections=listening.max_connections)
        what = f"issuing tokens of {contract.name!r} ({contract.digest[:16]}...)"
        run(
            IssuerService(opened, contract, held, limits),
            listener,
            lambda url: announced(what, url, contract, as_json),
        )
