"""The issuer is part of what a device holds a series to, and a credential fits one issuer."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, open_store
from rumor.contract.admission import is_bound, new_invitation, read_invitation
from rumor.contract.collection import Collection
from rumor.contract.issuing import (
    bound_credential,
    credential,
    credential_digest,
    enrolment_credential,
)
from rumor.core.blind_rsa import new_key
from rumor.core.errors import InputError
from tests.impostor import Heard, Impostor, Told, impostor
from tests.issuers import VECTORS, blind_wish, invite, issuing
from tests.javascript import node, parsed, refusals, steps

REFUSAL = (
    "a revision must not weaken sender anonymity: series 'series' "
    "has tokens signed by {url} and this revision does not; start a new series"
)


def not_known(heard: Heard) -> Told:
    """What an issuer says that does not know a person, and keeps what it was shown."""
    problem = {"type": "urn:rumor:problem:not-admitted", "detail": "no"}
    return 403, problem, {"Content-Type": "application/problem+json"}


def shown_to(issuer: Impostor) -> list[bytes]:
    """The credentials that an issuer was shown."""
    return [base64.b64decode(json.loads(each.body)["credential"]) for each in issuer.heard]


def revision(of: Collection, url: str, **keys: str) -> Collection:
    """The next revision of a contract, with an issuer at an address."""
    wish = blind_wish(url, revision=of.revision + 1, previous=of.digest)
    issuer = wish["issuer"]
    assert isinstance(issuer, dict)
    return Collection.resolve({**wish, "issuer": {**issuer, "keys": {**issuer["keys"], **keys}}})


@pytest.fixture
def issuer(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'issuer.db'}")


@pytest.mark.parametrize("bound", [False, True])
def test_a_revision_with_another_issuer_is_refused_before_it_is_shown_anything(
    tmp_path: Path, issuer: Store, bound: bool
) -> None:
    """In Python: neither an enrolment nor an answer goes to an issuer that was not agreed to."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with issuing(issuer) as first, impostor(not_known) as other:
        assert first.issuer is not None
        second = revision(first, other.url)
        store.register(first)
        (code,) = invite(issuer, new_invitation(bound=bound), url=first.issuer.url)
        with background(Service(store, "series")) as url:
            with Client(url, tmp_path / "me", first, invitation=code) as client:
                assert client.answer({"home": "news"}).sent == 1
                spent = client.spent
            with Client(url, tmp_path / "me", second, invitation=code) as client:
                for ask in (client.enrol, lambda: client.answer({"home": "news"})):
                    with pytest.raises(InputError) as refusal:
                        ask()
                    assert str(refusal.value) == REFUSAL.format(url=first.issuer.url)
                assert client.spent == spent
            assert other.heard == []
            # The contract that was agreed to goes on.
            with Client(url, tmp_path / "me", first, invitation=code) as client:
                assert client.answer({"home": "news", "colour": "red"}).sent == 2


def test_the_same_in_a_browser(tmp_path: Path, issuer: Store) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with issuing(issuer) as first, impostor(not_known) as other:
        assert first.issuer is not None
        store.register(first)
        (code,) = invite(issuer, new_invitation(bound=True), url=first.issuer.url)
        with background(Service(store, "series")) as url:
            answers = {"step": "prepare", "answers": {"home": "news"}, "invitation": code}
            found = steps(
                {"step": "fetch", "url": f"{url}/v1/collection"},
                parsed(revision(first, other.url), collector=url, **{"as": "second"}),
                {"step": "open"},
                answers,
                {"step": "send", "url": url},
                {"step": "enrol", "of": "second", "invitation": code},
                {**answers, "of": "second"},
                answers,
                {"step": "send", "url": url},
                {"step": "state"},
            )
    sentence = REFUSAL.format(url=first.issuer.url)
    assert refusals(found[5:7]) == [sentence, sentence]
    assert (found[4]["accepted"], found[8]["accepted"]) == (1, 1)
    assert found[-1]["pins"][0]["way"] == {"blind": True, "issuer": first.issuer.url}
    assert other.heard == []


def test_new_keys_at_the_same_address_are_taken(tmp_path: Path, issuer: Store) -> None:
    """A lost key file means new keys (docs/how-to/blind-admission.md); the issuer is the same."""
    other = new_key()
    with issuing(issuer) as first:
        assert first.issuer is not None
        second = revision(first, first.issuer.url, colour=other.public.to_bytes().hex())
        first.sender_anonymity.check_not_weaker(second.sender_anonymity, "series")
        (code,) = invite(issuer)
        with Respondent(tmp_path / "me") as device:
            shown, wanted = device.enrolment(first, code)
            again, more = device.enrolment(second, code)
            assert (shown, len(wanted), len(more)) == (again, 3, 3)
            assert {each.blinded for each in wanted} != {each.blinded for each in more}


def test_an_issuer_that_a_device_meets_first_gets_nothing_that_fits_another(
    tmp_path: Path, issuer: Store
) -> None:
    """Before any answer nothing is pinned: what a stranger's issuer is shown is of no use."""
    with issuing(issuer) as honest, impostor(not_known) as stranger:
        assert honest.issuer is not None
        for number, bound in enumerate((False, True)):
            (code,) = invite(issuer, new_invitation(bound=bound), url=honest.issuer.url)
            bad = Collection.resolve(blind_wish(stranger.url))
            with (
                Client(stranger.url, tmp_path / f"{bound}", bad, invitation=code) as client,
                pytest.raises(InputError, match="not known to the issuer"),
            ):
                client.enrol()
            steps(parsed(bad), {"step": "open"}, {"step": "enrol", "invitation": code})
            shown = set(shown_to(stranger)[2 * number :])
            assert len(shown) == 1
            fits = enrolment_credential(honest, code)
            # An older invitation shows everybody one credential; a bound one does not.
            assert (shown == {fits}) is not bound
            assert (issuer.issue("series", credential_digest(shown.pop()), []) is None) is bound
            assert issuer.issue("series", credential_digest(fits), []) == ()


def test_an_invitation_says_whether_it_is_bound(tmp_path: Path) -> None:
    """And not the contract: whoever holds one cannot be talked into showing the older one."""
    old, new = new_invitation(), new_invitation(bound=True)
    assert (is_bound(old), is_bound(new)) == (False, True)
    assert (len(read_invitation(old)), len(read_invitation(f" {new}\n"))) == (16, 16)
    for slip in (new.replace("bound-", ""), old.replace("rumor-", "rumor-bound-")):
        with pytest.raises(InputError, match="an invitation must be 'rumor-invitation-' "):
            read_invitation(slip)
    secret, places = read_invitation(new), ("https://a.example", "https://b.example")
    found = {bound_credential(secret, s, url) for s in ("series", "grün") for url in places}
    found |= {credential(secret, series) for series in ("series", "grün")}
    assert len(found) == 6


def test_both_languages_show_the_same() -> None:
    people: list[dict[str, Any]] = [each for each in VECTORS["people"] if "url" in each]
    assert people
    found = node("blind.mjs", given={"people": people, "tokens": []})["people"]
    assert found == [{k: each[k] for k in ("credential", "person")} for each in people]
    assert all(is_bound(each["invitation"]) for each in people)
