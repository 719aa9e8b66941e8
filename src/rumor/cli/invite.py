"""`rumor invite`: invitations to a collection that only invited people may answer."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.common import ending_cleanly, print_json, progress
from rumor.cli.invitation_files import InvitationPage
from rumor.cli.options import AsJson, CollectionFile, count, option
from rumor.cli.serve import DEFAULT_STORE, StoreUrl, made_store
from rumor.core.errors import InputError

# Keys that are kept in one commit.
_CHUNK = 2_000


def invite(
    collection: CollectionFile,
    out: Annotated[str, option("--out -o FILE", "The file to write, one invitation per line.")],
    count: Annotated[
        int, count("--count -n N", "The number of invitations.", min=1, max=1_000_000)
    ] = 1,
    store: StoreUrl = DEFAULT_STORE,
    *,
    handed_out: InvitationPage,
    as_json: AsJson = False,
) -> None:
    """Make invitations, one per respondent.

    The collection must say admission = "invited". The store keeps no invitation, only keys
    that tell it nothing about them; the file is the only copy.

    \b
    Example:
      rumor invite survey.toml --count 500 --out invitations.txt
      rumor invite survey.toml -n 30 -o codes.txt --print cards.html --answer-url https://.../answer
      rumor answer https://collect.example.org smoking --invitation CODE
    """
    from rumor.contract.admission import admission_keys, new_invitation
    from rumor.contract.collection import Collection

    contract = Collection.load(collection)
    if contract.admission != "invited":
        rest = "is open to anybody"
        if contract.admission == "blind":
            rest = "has an issuer, who makes them (rumor issue invite)"
        raise InputError(
            f'invitations need a collection with admission = "invited"; {contract.name!r} {rest}'
        )
    handed_out.check(out)
    with ending_cleanly(), made_store(store) as opened:
        opened.register(contract)
        codes = [new_invitation() for _ in range(count)]
        with progress("admitting") as update:
            waiting: list[bytes] = []
            for done, code in enumerate(codes, start=1):
                waiting += admission_keys(contract, code)
                update(done, count)
                if len(waiting) >= _CHUNK:
                    opened.admit(contract.series, waiting)
                    waiting = []
            opened.admit(contract.series, waiting)
        # Only now: a key that nobody holds does no harm, an invitation without a key does.
        handed_out.write(out, contract, codes)
        left = opened.admissions(contract.series)
    if as_json:
        print_json({"invitations": count, "file": out, "admitted": left})
        return
    print(f"{count:,} invitations written to {out}; {left:,} reports are admitted in total")
