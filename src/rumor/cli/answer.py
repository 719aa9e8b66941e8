"""`rumor answer`: one person's answers to a collector, randomised on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rumor.cli.common import AsJson, print_json
from rumor.errors import InputError, shown

if TYPE_CHECKING:
    from rumor.collection import Question


def answer(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the collector is.")],
    answers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUESTION=VALUE...",
            help="Answers by the questions' ids; without any, what is waiting is sent.",
        ),
    ] = None,
    state_dir: Annotated[
        str | None,
        typer.Option(
            "--state-dir",
            metavar="FOLDER",
            help="Where the secret, the ledger and unsent reports are kept.",
        ),
    ] = None,
    max_epsilon: Annotated[
        float | None,
        typer.Option("--max-epsilon", metavar="E", help="The most this device spends in all."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option("--digest", metavar="HEX", help="The contract's digest must be this one."),
    ] = None,
    invitation: Annotated[
        str | None,
        typer.Option(
            "--invitation",
            metavar="CODE",
            help="What admits you, where only invited people answer.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a collector; only randomised reports are sent.

    What cannot be sent is kept and goes out with the next call (exit status 1 says so). What
    was refused is kept too: the same report goes out again with another --invitation, at no
    further cost. rumor withdraw takes reports back.

    Pairs of a key and a number are typed KEY:NUMBER, with commas between them.

    \b
    Example:
      rumor answer http://127.0.0.1:8000 homepage=news
      rumor answer http://127.0.0.1:8000 apps=Maps:0.5,Chat:2
    """
    from rumor.client.client import Client

    folder = state_dir or default_state_dir()
    with Client(url, folder, None, max_epsilon, digest, invitation=invitation) as client:
        if answers:
            collection = client.collection()
            given: dict[str, object] = {}
            for item in answers:
                id, equals, text = item.partition("=")
                if not equals:
                    raise InputError(f"an answer must be QUESTION=VALUE; got {shown(item)}")
                if id in given:
                    raise InputError(f"a question must be answered once; got {id!r} twice")
                given[id] = parse_answer(collection.question(id), text)
            receipt = client.answer(given)
        else:
            receipt = client.flush()
        spent = client.spent
    if as_json:
        print_json(
            {
                "sent": receipt.sent,
                "waiting": receipt.waiting,
                "refused": receipt.refused,
                "problem": receipt.problem,
                "spent": spent,
            }
        )
    else:
        print(f"{receipt.sent} sent, {receipt.waiting} waiting; epsilon {spent:.4g} spent in all")
        if receipt.problem is not None:
            print(f"not all arrived: {receipt.problem}")
    if receipt.waiting:
        raise typer.Exit(1)


def parse_answer(question: Question, text: str) -> object:
    """A typed answer as the mechanism takes it: a label, a text, a number or pairs."""
    if question.kind == "keyvalue":
        return dict(_pair(part) for part in text.split(",") if part.strip())
    if question.labels is not None or question.kind == "text":
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _pair(text: str) -> tuple[str, float]:
    key, colon, number = text.strip().rpartition(":")
    try:
        if colon:
            return key.strip(), float(number)
    except ValueError:
        pass
    raise InputError(f"pairs must be KEY:NUMBER,KEY:NUMBER...; got {shown(text)}")


def default_state_dir() -> Path:
    """Where this user's state is kept, by the XDG convention."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "rumor"
