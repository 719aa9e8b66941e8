"""The longitudinal law where people are asked some of many questions.

Contracts that ask so few of their questions, revised in any order; a person who tries to answer
every one of them at every step. Whatever they hold: the same questions are drawn, the same tries
are refused with the same words, and no transcript (what was drawn is public) tells more than
the ledger charged, which is at most what the questions drawn first can cost. Contracts that are
merely looked at change nothing of it, and nobody answers on two of the days that one contract has.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumor.client.ledger import Ledger
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection, Question
from rumor.contract.sampling import SamplingDesign
from rumor.core.randomness import Keyed
from rumor.mechanisms import BasicRappor, Mechanism, RandomizedResponse
from rumor.privacy.loss import series_ceiling
from tests.laws.longitudinal import Record, Step, loss, meet, transcripts

IDS = ("q0", "q1", "q2")


def mechanisms(price: int) -> dict[str, Mechanism]:
    """Of each question: two with fresh noise, one whose answer is permanent; prices may change."""
    coin = RandomizedResponse(domain=["a", "b"], epsilon=0.5 * price)
    three = RandomizedResponse(domain=["a", "b", "c"], epsilon=1.0)
    memo = BasicRappor(domain=["a", "b"], f=0.5, p=0.25, q=0.75)
    return dict(zip(IDS, (coin, three, memo), strict=True))


@st.composite
def contracts(draw: st.DrawFn) -> list[Collection]:
    """One to three contracts of a series, each a revision of the one before."""
    made: list[Collection] = []
    for _ in range(draw(st.integers(1, 3))):
        ids = draw(st.lists(st.sampled_from(IDS), min_size=2, max_size=3, unique=True))
        of = mechanisms(draw(st.integers(1, 3)))
        questions = tuple(
            Question(id, "choice", "", of[id], draw(st.integers(1, 2)), None) for id in ids
        )
        ask = draw(st.sampled_from([None, *(SamplingDesign(k) for k in range(1, len(ids)))]))
        last = made[-1] if made else None
        made.append(
            Collection(
                "A law",
                "law",
                "nobody",
                questions,
                revision=1 if last is None else last.revision + 1,
                previous=None if last is None else last.digest,
                ask=ask,
            )
        )
    return made


def tries(
    steps: Sequence[Collection],
    held: Sequence[dict[str, str]],
    strangers: Sequence[Collection] = (),
) -> list[Step]:
    """Every question of every contract, one at a time, others being looked at before."""
    return [
        Step(contract, {question.id: values[question.id]}, opened=strangers)
        for contract, values in zip(steps, held, strict=True)
        for question in contract.questions
    ]


# What somebody holds in each of up to three steps: alike, since no value ever repeats or changes
# at another time than the other person's.
def people(steps: int) -> list[list[dict[str, str]]]:
    same = [[dict.fromkeys(IDS, value)] * steps for value in "ab"]
    turns = [[dict.fromkeys(IDS, order[i % 2]) for i in range(steps)] for order in ("ab", "ba")]
    return [*same, *(turns if steps > 1 else [])]


def check(
    steps: Sequence[Collection], folder: Path, strangers: Sequence[Collection] = ()
) -> list[Record]:
    """Hold two pairs of people to the law, on the device in this folder."""
    records = []
    held = people(len(steps))
    for one, other in zip(held[::2], held[1::2], strict=True):
        first, second = (meet(folder, tries(steps, who), go_on=True) for who in (one, other))
        assert first.drawn == second.drawn, "what is asked is drawn from no answer"
        assert first.refusals == second.refusals
        assert first.charged == second.charged == first.audited == second.audited
        assert loss(transcripts(first), transcripts(second)) <= Decimal(first.charged)
        drawn = first.drawn[0].questions if steps[0].ask else IDS  # type: ignore[attr-defined]
        assert first.charged <= series_ceiling(steps[0], drawn)
        records += [first, second]
    looked = meet(folder, tries(steps, held[0], strangers), go_on=True)
    assert (looked.drawn, looked.refusals) == (records[0].drawn, records[0].refusals)
    assert looked.charged == records[0].charged
    return records


@given(steps=contracts(), strangers=contracts(), person=st.integers(0, 7))
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_no_sequence_of_values_and_contracts_costs_more_than_the_ledger_says(
    steps: list[Collection],
    strangers: list[Collection],
    person: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    others = [replace(one, name="A stranger") for one in strangers]
    check(steps, _folder(tmp_path_factory, person), others)


FIRST = datetime.date(2026, 1, 1)
SPANS = st.builds(
    lambda days, starts: SamplingDesign(
        None, days, None if starts is None else FIRST + datetime.timedelta(days=starts)
    ),
    st.integers(2, 9),
    st.none() | st.integers(0, 9),
)


@given(spans=st.lists(SPANS, min_size=2, max_size=3), person=st.integers(0, 7))
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
def test_nobody_answers_on_two_of_the_days_of_a_contract(
    spans: list[SamplingDesign], person: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Each contract is there for five days, and tried on all of them with questions of its own.
    coin, steps = mechanisms(1)["q0"], []
    last: Collection | None = None
    for number, ask in enumerate(spans):
        last = Collection(
            "A law",
            "law",
            "nobody",
            (Question(f"q{number}", "choice", "", coin, 1, None),),
            revision=number + 1,
            previous=None if last is None else last.digest,
            series_epsilon=99.0,
            ask=ask,
        )
        steps += [Step(last, {f"q{number}": "a"}, 5 * number + day) for day in range(5)]
    record = meet(_folder(tmp_path_factory, person), steps, go_on=True)
    refused = {number for number, _ in record.refusals}
    answered = [(n // 5, step.day) for n, step in enumerate(steps) if n not in refused]
    # A contract without a first day counts from the day on which the first answered one was met.
    met = min((n for n, _ in answered), default=0)
    while met and spans[met - 1] == spans[met]:
        met -= 1
    for (_, before), (number, after) in itertools.combinations(answered, 2):
        first = spans[number].day(0, FIRST + datetime.timedelta(days=5 * met))
        apart = FIRST + datetime.timedelta(days=before) - first
        assert before == after or not 0 <= apart.days < (spans[number].days or 0)


def _folder(factory: pytest.TempPathFactory, person: int) -> Path:
    """The folder of one of a few people, each with a secret that is always the same."""
    folder = factory.getbasetemp() / f"person-{person}"
    folder.mkdir(exist_ok=True)
    file = folder / "secret"
    if not file.exists():
        digits = Keyed(bytes(32), "a person", person).digest().hex()
        file.write_text(f"rumor secret 1\n{digits}\n")
        file.chmod(0o600)
    return folder


def one_of_three() -> Collection:
    of = mechanisms(3)
    questions = tuple(Question(id, "choice", "", of[id], 1, None) for id in IDS)
    return Collection("A law", "law", "nobody", questions, ask=SamplingDesign(1))


def test_the_ledger_is_attained_and_every_question_is_somebodys(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # What is charged is what the drawn question can lose: not the sum, not the largest.
    assert _lived(tmp_path_factory) == set(IDS)


# --- The law bites ----------------------------------------------------------------------------


def by_answer(patch: pytest.MonkeyPatch) -> None:
    """A draw that looks at the answers."""
    prepare = Respondent.prepare

    def looking(
        self: Respondent, collection: Collection, answers: object, **more: object
    ) -> object:
        self._secret = Keyed(self._secret, repr(answers)).digest()
        return prepare(self, collection, answers, **more)  # type: ignore[arg-type]

    patch.setattr(Respondent, "prepare", looking)


def for_nothing(patch: pytest.MonkeyPatch) -> None:
    """A ledger that debits nothing."""
    patch.setattr(Ledger, "_losses", lambda self, series=None: [])


def everything(patch: pytest.MonkeyPatch) -> None:
    """A device that answers what it was not asked."""
    patch.setattr(Respondent, "check_assigned", lambda self, collection, ids=(): None)


@pytest.mark.parametrize("spoil", [by_answer, for_nothing, everything])
def test_the_law_catches(
    spoil: object, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert callable(spoil)
    spoil(monkeypatch)
    with pytest.raises(AssertionError):
        _lived(tmp_path_factory)


def _lived(factory: pytest.TempPathFactory) -> set[str]:
    """Which questions a dozen people were asked, each charged what theirs costs."""
    contract, seen = one_of_three(), set()
    for person in range(12):
        first, second, *_ = check([contract], _folder(factory, person))
        (drawn,) = first.drawn[0].questions  # type: ignore[attr-defined]
        seen.add(drawn)
        assert first.charged == contract.question(drawn).epsilon
        if drawn != "q2":  # permanent answers differ by more than two people can show
            lost = loss(transcripts(first), transcripts(second))
            assert lost <= Decimal(first.charged) <= lost * (1 + Decimal("1e-12"))
    return seen
