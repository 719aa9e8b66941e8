"""`rumor answer`: one person's answers to a collector, randomised on this machine.

Answers are typed at a prompt or read from the standard input. They are never arguments: other
users of a machine can read those in its list of processes, and shells keep them.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, argument, opt, option
from rumor.core.errors import AnswerError, InputError

if TYPE_CHECKING:
    from rumor.client.pins import CeilingIncrease
    from rumor.contract.collection import Collection, Question

_MANY_DIGITS = 1000

StateDir = Annotated[
    str | None,
    option("--state-dir FOLDER", "Where the secret, the ledger and unsent reports are kept."),
]


Questions = Annotated[
    list[str] | None,
    argument("QUESTION...", "The ids of the questions to answer (default: all you are assigned)."),
]
MaxEpsilon = Annotated[
    float | None,
    option("--max-epsilon E", "Refuse to answer once this device has spent epsilon E in total."),
]


@dataclass(frozen=True)
class AnswerTerms:
    """Options for taking part: consent and invitation."""

    digest: str | None = opt("--digest HEX", "Answer only a contract with this digest.")
    invitation: str | None = opt(
        "--invitation CODE", "Your invitation, if the collection needs one."
    )
    group: list[str] | None = opt(
        "--group NAME=GROUP",
        "One of your groups, sent in the clear if the collection has it (default: other). "
        "Repeatable.",
    )
    agree: bool = opt(
        "--agree",
        "Agree to a revision that costs more than was promised (default: ask).",
        default=False,
    )


def answer(
    url: Annotated[str, argument("URL", "The address of the collector, or of its answer page.")],
    questions: Questions = None,
    state_dir: StateDir = None,
    max_epsilon: MaxEpsilon = None,
    *,
    terms: AnswerTerms,
    as_json: AsJson = False,
) -> None:
    """Answer a collector; only randomised reports are sent.

    On a terminal you are asked for each answer, and an empty line skips a question. Otherwise
    the standard input is read: a line for each question that is named here, in this order; or,
    where none is, lines QUESTION=VALUE or one JSON object with an answer for each question.
    Without an answer, what is waiting is sent, and tokens are fetched where an issuer signs them.

    Where a collection asks each person some of its questions, or on one of many days, this
    machine draws them at first and keeps them: only these are asked, on that day.

    Groups of the collection (--group country=DE) are sent in the clear with every report.

    Pairs of a key and a number are typed KEY:NUMBER, with commas between them. A number
    outside its range is replaced by the nearest end, with a note.

    What cannot be sent is kept and goes out with the next call (exit status 1 says so).

    \b
    Example:
      rumor answer http://127.0.0.1:8000 homepage
      rumor answer http://127.0.0.1:8000 < answers.json
    """
    from rumor.client.client import Client
    from rumor.contract.groups import read_groups, stratum_of
    from rumor.privacy.promise import collection_promise

    named = questions or []
    if any("=" in name for name in named):
        raise InputError(
            "answers must not be arguments, which other users of this machine and the shell's "
            "history show; name the question alone and you are asked, or give lines "
            "QUESTION=VALUE or JSON on the standard input"
        )
    groups = read_groups(terms.group or ())
    folder = state_dir or default_state_dir()
    with Client(
        url,
        folder,
        None,
        max_epsilon,
        terms.digest,
        invitation=terms.invitation,
        consent=functools.partial(_agreed, terms.agree),
    ) as client:
        piped = _piped(named)
        # An empty input answers nothing, and needs no contract.
        nothing = piped is not None and not piped.strip()
        given, asked = {}, None
        if not nothing:
            asked = client.assignment()
            client.check_assigned(named)  # before anything is typed
            if asked.in_words():
                print(asked.in_words(), file=sys.stderr)
            if (joined := collection_promise(client.collection()).linking_in_words()) is not None:
                print(joined, file=sys.stderr)
            if (stratum := stratum_of(client.collection(), groups)) is not None:
                print(_in_the_clear(client.collection(), stratum), file=sys.stderr)
            given = _answers(client.collection(), named or asked.questions, piped)
        if not given and terms.invitation is not None:
            client.enrol()
        receipt = client.answer(given, groups) if given else client.flush()
        spent = client.spent
    if as_json:
        drawn = {} if asked is None else {"asked": asked.questions}
        facts = {{"notes": "told"}.get(name, name): value for name, value in vars(receipt).items()}
        print_json({**facts, "spent": spent, **drawn})
    else:
        for note in receipt.notes:
            print(note)
        sent = f"{receipt.sent} report{'s'[: receipt.sent != 1]} sent"
        print(f"{sent}, {receipt.waiting} pending; total epsilon spent: {spent:.4g}")
        if receipt.problem is not None:
            print(f"some reports were not accepted: {receipt.problem}")
    if receipt.waiting or receipt.dropped:
        raise typer.Exit(1)


def _in_the_clear(collection: Collection, stratum: int) -> str:
    """Return what is sent in the clear, and this person's groups among it."""
    assert collection.groups is not None
    groups = collection.groups.of_stratum(stratum)
    mine = ", ".join(f"{name} {group}" for name, group in groups.items())
    return f"{collection.groups.in_words()}. Yours: {mine}."


def _agreed(agree: bool, change: CeilingIncrease) -> bool:
    """Return whether the respondent agrees: by --agree, or asked on the terminal."""
    if agree or not sys.stdin.isatty():
        return agree
    print(f"{change.in_words()} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _piped(named: Sequence[str]) -> str | None:
    """Return the standard input as text; None if questions are `named` or it is a terminal."""
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # every text is taken, however it is encoded
    return None if named or sys.stdin.isatty() else sys.stdin.read()


def _answers(collection: Collection, named: Sequence[str], piped: str | None) -> dict[str, object]:
    """Return the answers that are typed or read, by the questions' ids."""
    if piped is not None:
        whole = piped.lstrip().startswith("{")
        return _from_json(piped) if whole else _from_lines(collection, piped)
    asked = [_named(collection, name) for name in named]
    if len({question.id for question in asked}) < len(asked):
        raise InputError("a question must be answered once; got one named twice")
    if sys.stdin.isatty():
        return dict(_prompted(asked))
    return {question.id: _line(question) for question in asked}


def _named(collection: Collection, name: str) -> Question:
    """Return the question `name`; an unknown name may be an answer, so the error hides it."""
    for question in collection.questions:
        if question.id == name:
            return question
    ids = ", ".join(question.id for question in collection.questions)
    raise InputError(f"a question must be named as one of {ids}; got another name")


def _prompted(asked: Sequence[Question]) -> Iterator[tuple[str, object]]:
    """Ask for each answer on the terminal, again where it is none; an empty line skips."""
    for question in asked:
        print(f"{question.text or question.id} ({_hint(question)})", file=sys.stderr)
        while True:
            print("> ", end="", file=sys.stderr, flush=True)
            text = sys.stdin.readline().rstrip("\n")
            if not text.strip():
                break
            try:
                value = _read(question, text)
            except AnswerError as problem:
                print(f"rumor: {problem}", file=sys.stderr)
                continue
            yield question.id, value
            break


def _read(question: Question, text: str) -> object:
    from rumor.kinds import KINDS

    return KINDS[question.kind].parse_answer(question.mechanism, text)


def _hint(question: Question) -> str:
    from rumor.kinds import KINDS

    return KINDS[question.kind].hint(question.mechanism)


def _line(question: Question) -> object:
    """Return the next line of the standard input, as this question's answer."""
    text = sys.stdin.readline()
    if not text:
        raise InputError(
            f"question {question.id!r}: its answer must be a line of the standard input; got none"
        )
    return _typed(question, text.rstrip("\n"), f"question {question.id!r}")


def _typed(question: Question, text: str, place: str) -> object:
    try:
        return _read(question, text)
    except AnswerError as problem:
        raise problem.located_in(place) from None


def _from_lines(collection: Collection, text: str) -> dict[str, object]:
    """Return answers from lines QUESTION=VALUE."""
    given: dict[str, object] = {}
    # Only a line feed ends a line: other breaks may be part of an answer.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        id, equals, value = line.partition("=")
        place = f"line {number} of the standard input"
        if not equals:
            raise InputError(f"{place}: an answer must be QUESTION=VALUE; got no '='")
        try:
            question = _named(collection, id.strip())
        except InputError as problem:
            raise InputError(f"{place}: {problem}") from None
        if question.id in given:
            raise InputError(f"{place}: a question must be answered once; got one twice")
        given[question.id] = _typed(question, value, place)
    return given


def _from_json(text: str) -> dict[str, object]:
    """Return answers from one JSON object, as Python takes them."""
    try:
        given = json.loads(text, object_pairs_hook=_once, parse_int=_integer)
    except (ValueError, RecursionError):
        given = None  # the reason holds the text
    if not isinstance(given, Mapping):
        raise InputError(
            "the standard input must be one JSON object of questions and answers, each once; "
            "got something else"
        )
    return dict(given)


def _integer(digits: str) -> int | float:
    """Return the integer of `digits`, as a float if Python refuses to read so long an integer."""
    return int(digits) if len(digits) < _MANY_DIGITS else float(digits)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def default_state_dir() -> Path:
    """Return the folder of this user's state, by the XDG convention."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "rumor"
