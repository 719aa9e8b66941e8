"""`rumor vectors`: right ports make what the vectors of a contract say, and wrong ones do not."""

from __future__ import annotations

import copy
import datetime
import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rumor.cli import main
from rumor.client.respondent import Respondent
from rumor.client.vectors import (
    INVITATION,
    SECRET,
    Visit,
    answer,
    contract_vectors,
    ledger_rows,
    open_folder,
)
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeFormat
from rumor.core.errors import InputError
from rumor.core.randomness import Keyed, Keystreams, Stream
from rumor.kinds import NAMES
from rumor.mechanisms import BY_NAME, KeyValueMechanism
from tests.client.test_app_engines import checked
from tests.engines import ENGINES, Host, device
from tests.everything import every_mechanism
from tests.issuers import blind_collection
from tests.javascript import first_difference, refusals
from tests.needs import needs
from tests.relay.tools import relayed
from tests.vectors import make_asked, make_device

needs("node")
WORDS = 512  # bytes of random words that a device in JavaScript reads at a time


def _contracts() -> Iterator[tuple[str, Collection]]:
    yield "every kind and mechanism", every_mechanism()
    lives = make_device.contracts()
    for name in ("first", "relabelled", "round 2", "round 3", "hidden", "hourly", "two days"):
        yield name, lives[name]
    yield "one person's batch", lives["one person's batch"]
    yield from ((f"asked {name}", one) for name, one in make_asked.contracts().items())
    yield "invited", replace(lives["first"], admission="invited")
    yield "relayed", relayed(turn_hours=24)
    yield "blind", blind_collection()


CONTRACTS = dict(_contracts())
# Contracts that the device answers before.
EARLIER = {
    "relabelled": ["first", "fresh"],
    "round 2": ["round 1"],
    "round 3": ["round 1", "round 2"],
}


@functools.cache
def document(name: str) -> Any:
    lives = make_device.contracts()
    return contract_vectors(CONTRACTS[name], [lives[each] for each in EARLIER.get(name, ())])


class Given(Keystreams):
    """Randomness that a vector states by its seed."""

    def __init__(self, seed: str) -> None:
        self._seed = bytes.fromhex(seed)

    def stream(self) -> Stream:
        return Stream(self._seed)


# --- Two ports ------------------------------------------------------------------------------


def differences_in_python(told: Any) -> list[str]:
    """What a device in Python makes otherwise than the vectors `told`, from their inputs alone."""
    contract = Collection.from_contract(told["contract"])
    found = [] if contract.digest == told["digest"] else ["digest"]
    secret = bytes.fromhex(told["secret"])
    for own in told["questions"]:
        mechanism = contract.question(own["question"]).mechanism
        permanent = Keyed(secret, *own["permanent"])
        for count, loss in own["losses"].items():
            found += [] if mechanism.epsilon_after(int(count)) == loss else ["loss"]
        for one in own["reports"]:
            value, noise = _as_python(mechanism, one["value"]), Given(one["random"])
            made = mechanism.report(value, random=noise).hex()
            kept = mechanism.permanence.report_memoised(value, permanent=permanent, random=noise)
            found += [] if made == one["report"] else ["report"]
            found += [] if kept.hex() == one["answer"] else ["answer"]
        for one in own.get("settled", []):
            tag = (own["permanent"][1], own["permanent"][2], own["cell"])
            key = Keyed(secret, "rumor value tag 2", *tag, mechanism.identity(one["value"]))
            found += [] if key.digest()[:16].hex() == one["tag"] else ["tag"]
    return found


def _as_python(mechanism: object, value: Any) -> Any:
    if isinstance(mechanism, KeyValueMechanism) and mechanism.labels is None:
        return {int(key): number for key, number in value.items()}
    return value


def life_in_python(told: Any, folder: Path) -> str:
    """The first difference of a life of a device in Python from that of the vectors `told`."""
    life = told["device"]
    contracts = {each: Collection.from_contract(one) for each, one in life["contracts"].items()}
    assert [each.digest for each in contracts.values()] == list(contracts)
    open_folder(folder, bytes.fromhex(told["secret"]))
    if life["assignment"] is not None:
        met = datetime.date(1970, 1, 1) + datetime.timedelta(days=life["assignment"]["met"])
        with Respondent(folder, today=lambda: met) as person:
            drawn = person.assignment(next(iter(contracts.values())))
        assert list(drawn.questions) == life["assignment"]["questions"]
    steps = []
    for step in life["steps"]:
        contract = contracts[step["contract"]]
        (id,) = step["answers"]
        value = _as_python(contract.question(id).mechanism, step["answers"][id])
        noise = Given(step["random"])
        visit = Visit(step["day"], {id: value}, random=noise, invitation=INVITATION)
        found = answer(folder, contract, visit)
        steps.append({**step, **{key: found[key] for key in ("refused", "reports", "spent")}})
    return first_difference({**life, "steps": steps, **ledger_rows(folder)}, life)


def differences_in_javascript(told: Any, engine: str = "node") -> list[str]:
    """What the client in JavaScript makes of the questions otherwise than the vectors `told`."""
    given = {"client": {"secret": told["secret"], "vectors": told["questions"]}}
    found = checked(engine, "compare", given)
    assert found["refused"] == {}
    assert found["checked"]["report"] > 0
    return [each["what"] for each in found["different"]]


class Words(Host):
    """A host whose random words are those of a vector."""

    stream: Stream | None = None

    def random(self, size: int) -> list[int]:
        if size != WORDS or self.stream is None:
            return super().random(size)
        return list(self.stream.words(size // 8).tobytes())


def life_in_javascript(told: Any, engine: str = "node") -> str:
    """The first difference of a life of the app's device from that of the vectors `told`."""
    life, host = told["device"], Words()
    lists: dict[str, Any] = {"answers": [], "mechanisms": [], "pins": [], "pending": []}
    host.kept = json.dumps({"rumor": 2, "secret": told["secret"], **lists})
    steps = []
    with device(engine, host) as app:
        for digest, contract in life["contracts"].items():
            assert app.take("parse", contract=contract, **{"as": digest}) == digest
        app.take("open")
        if life["assignment"] is not None:
            host.time = 86_400_000.0 * life["assignment"]["met"]
            drawn = app.take("drawn", of=next(iter(life["contracts"])))
            assert drawn["questions"] == life["assignment"]["questions"]
        for step in life["steps"]:
            host.time = 86_400_000.0 * step["day"]
            host.stream = Stream(bytes.fromhex(step["random"]))
            given = {"of": step["contract"], "answers": step["answers"]}
            made = app.take("prepare", **given, invitation=INVITATION)
            (refused,) = refusals([made])
            reports = {} if refused else {each["question"]: each["report"] for each in made}
            spent = app.take("spent")
            steps.append({**step, "refused": refused, "reports": reports, "spent": spent})
    state = json.loads(host.kept)
    rows = [
        {
            **row,
            "settled": row.get("settled"),
            "made": sorted(row["made"], key=lambda one: str(one["mechanism"])),
        }
        for row in state["answers"]
    ]
    pins = sorted(state["pins"], key=lambda pin: str(pin["series"]))
    return first_difference({**life, "steps": steps, "answers": rows, "pins": pins}, life)


def differences_of_deliveries(told: Any) -> str:
    """The first difference of what goes along with reports, in JavaScript, from the vectors."""
    given = {key: told[key] for key in ("contract", "digest")}
    found = checked("node", "deliver", {**given, "vectors": told["deliveries"]})
    vectors = [{**one, **made} for one, made in zip(told["deliveries"], found, strict=True)]
    return first_difference(vectors, told["deliveries"])


# --- Right ports and wrong ones -------------------------------------------------------------


@pytest.mark.parametrize("name", CONTRACTS)
def test_python_and_javascript_make_what_the_vectors_say(name: str, tmp_path: Path) -> None:
    told = document(name)
    assert differences_in_python(told) == []
    assert life_in_python(told, tmp_path) == ""
    assert differences_in_javascript(told) == []
    assert life_in_javascript(told) == ""


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_other_engines_make_what_the_vectors_say(engine: str) -> None:
    for name in ("first", "round 3"):
        assert differences_in_javascript(document(name), engine) == []
        assert life_in_javascript(document(name), engine) == ""


def test_the_contracts_have_every_kind_and_every_mechanism() -> None:
    told = document("every kind and mechanism")
    assert {each["kind"] for each in told["contract"]["questions"]} == set(NAMES)
    assert {each["mechanism"]["name"] for each in told["questions"]} == set(BY_NAME)
    for name in CONTRACTS:
        told = document(name)
        assert told["secret"] == SECRET.hex()
        times = 4 + len(EARLIER.get(name, ()))
        assert len(told["device"]["steps"]) == times * len(told["questions"])
    answered = [any(step["reports"] for step in document(name)["device"]["steps"])
                for name in CONTRACTS]  # fmt: skip
    assert answered.count(False) == 1  # no device answers where one person fills a batch


def _flipped(text: str) -> str:
    """The bytes `text` in hexadecimal, with the lowest bit of the last one changed."""
    return f"{text[:-1]}{int(text[-1], 16) ^ 1:x}"


def _first_made(told: Any) -> Any:
    return next(step for step in told["device"]["steps"] if step["reports"])


def _flip_report_of_life(told: Any) -> None:
    reports = _first_made(told)["reports"]
    reports.update({id: _flipped(report) for id, report in reports.items()})


def _charge_less(told: Any) -> None:
    step = _first_made(told)
    step["spent"] *= 1 - 1e-15


def _flip(which: int, member: str, kept: str = "reports") -> Callable[[Any], None]:
    def change(told: Any) -> None:
        own = told["questions"][which][kept][0]
        own[member] = _flipped(own[member])

    return change


# Of the contract "first": question 1 is RAPPOR, 0 and 2 memoise too, 3 and 4 draw afresh.
WRONG: dict[str, tuple[Callable[[Any], None], str]] = {
    "report": (_flip(3, "report"), "questions"),
    "answer": (_flip(1, "answer"), "questions"),
    "tag": (_flip(0, "tag", "settled"), "questions"),
    "report of a life": (_flip_report_of_life, "device"),
    "charge": (_charge_less, "device"),
    "permanent answer": (lambda told: _flip_settled(told), "device"),
}


def _flip_settled(told: Any) -> None:
    row = next(row for row in told["device"]["answers"] if row["settled"])
    row["settled"] = _flipped(row["settled"])


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_bit_is_noticed(name: str, tmp_path: Path) -> None:
    change, where = WRONG[name]
    told = copy.deepcopy(document("first"))
    change(told)
    if where == "questions":
        assert differences_in_python(told) == [name]
        assert name in differences_in_javascript(told)
    else:
        assert life_in_python(told, tmp_path) != ""
        assert life_in_javascript(told) != ""


def test_a_port_with_another_secret_is_noticed(tmp_path: Path) -> None:
    told = {**document("first"), "secret": _flipped(SECRET.hex())}
    assert {"answer", "tag"} <= set(differences_in_python(told))
    assert life_in_python(told, tmp_path) != ""
    assert differences_in_javascript(told) != []


def test_a_later_round_needs_the_earlier_ones() -> None:
    alone = contract_vectors(CONTRACTS["round 2"])["device"]["steps"]
    assert "rounds must be answered in order" in alone[0]["refused"]
    first, *later = document("round 2")["device"]["steps"]
    assert (first["refused"], later[0]["refused"]) == (None, None)
    assert later[0]["spent"] > first["spent"] > 0
    with pytest.raises(InputError, match="in their order, and before revision 2; got revision 3"):
        contract_vectors(CONTRACTS["round 2"], [CONTRACTS["round 3"]])
    with pytest.raises(InputError, match="must be of the series 'rounds'"):
        contract_vectors(CONTRACTS["round 2"], [CONTRACTS["first"]])


@pytest.mark.parametrize("name", ["first", "invited", "hidden", "relayed", "blind"])
def test_what_goes_along_with_a_report_is_that_of_javascript(name: str) -> None:
    told = copy.deepcopy(document(name))
    assert differences_of_deliveries(told) == ""
    told["deliveries"][0]["id"] = _flipped(told["deliveries"][0]["id"])
    assert differences_of_deliveries(told) != ""


def test_an_envelope_has_the_stated_bytes() -> None:
    for name in ("hidden", "relayed"):
        contract, (one, *_) = CONTRACTS[name], document(name)["deliveries"]
        form = EnvelopeFormat.of(contract, contract.questions[0], one["turn"])
        assert form.info.hex() == one["info"]
        assert len(form.seal(bytes.fromhex(one["id"]), None, bytes(form.width))) == one["size"]
        assert one["plain"] == one["id"] + "00" * form.width


# --- The command ----------------------------------------------------------------------------


def test_the_command_prints_the_same_document_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract, out = tmp_path / "contract.json", tmp_path / "vectors.json"
    contract.write_bytes(CONTRACTS["first"].canonical())
    assert main(["vectors", str(contract)]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == document("first")
    assert main(["vectors", str(contract), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document("first")
    assert main(["vectors", str(contract), "-o", str(out)]) == 0
    assert out.read_text("utf-8") == printed
    digest = CONTRACTS["first"].digest[:16]
    numbers = f"{out}: questions 5, reports 84, steps of a device 20; digest {digest}...\n"
    assert capsys.readouterr().out == numbers


def test_the_command_replaces_no_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = tmp_path / "contract.json"
    contract.write_bytes(CONTRACTS["first"].canonical())
    assert main(["vectors", str(contract), "-o", str(contract)]) == 2
    assert "--out must not replace what is read" in capsys.readouterr().err
    assert contract.read_bytes() == CONTRACTS["first"].canonical()
