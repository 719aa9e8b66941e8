"""`rumor show`: a collection in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rumor.cli.common import AsJson, CollectionFile, print_json

if TYPE_CHECKING:
    from rumor.collection import Collection, Question


def show(
    collection: CollectionFile,
    contract: Annotated[
        bool,
        typer.Option("--contract", help="Print the contract itself: canonical JSON, as digested."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say in plain words what a collection asks and promises.

    Everything that was left open ("auto") is resolved; the digest is what clients and
    collectors compare.

    \b
    Example:
      rumor show examples/browser.toml
      rumor show examples/browser.toml --contract > contract.json
    """
    from rumor.collection import Collection

    loaded = Collection.load(collection)
    if contract:
        print(loaded.canonical().decode("utf-8"))
    elif as_json:
        print_json(_facts(loaded))
    else:
        print(_words(loaded))


def _facts(collection: Collection) -> dict[str, object]:
    return {
        "name": collection.name,
        "series": collection.series,
        "contact": collection.contact,
        "admission": collection.admission,
        "digest": collection.digest,
        "questions": [
            {
                **question.contract(),
                "report_bytes": question.mechanism.width,
                "epsilon_total": question.epsilon_total,
            }
            for question in collection.questions
        ],
    }


def _words(collection: Collection) -> str:
    lines = [
        f"{collection.name} (series {collection.series})",
        f"  contact   {collection.contact}",
        f"  digest    {collection.digest}",
    ]
    if collection.admission == "invited":
        lines.append("  open to   people with an invitation")
    for question in collection.questions:
        lines += ["", *_question(question)]
    return "\n".join(lines)


def _question(question: Question) -> list[str]:
    from rumor.privacy.words import in_words
    from rumor.text import one_line, wrapped

    mechanism, labels = question.mechanism, question.labels
    width, times = mechanism.width, question.reports_per_person
    lines = [f"{question.id} ({question.kind}): {question.text or 'no text'}"]
    if labels is not None:
        few = ", ".join(one_line(label) for label in labels[:8])
        lines.append(f"  answers   {len(labels):,}: {few}{', ...' if len(labels) > 8 else ''}")
    elif hasattr(mechanism, "domain"):
        lines.append(f"  answers   integers from 0 to {mechanism.domain - 1:,}")
    lines += [
        f"  mechanism {mechanism.name}",
        f"  report    {width:,} byte{'s' if width > 1 else ''}",
        f"  epsilon   {question.epsilon:.6g} for each report",
        *(f"            {line}" for line in wrapped(in_words(question.epsilon)).splitlines()),
        f"  asked     {'once' if times == 1 else f'at most {times:,} times'} of each person"
        + ("" if times == 1 else f", which costs epsilon {question.epsilon_total:.6g} in all"),
        "  kept      "
        + (
            "as long as the collector likes"
            if question.retention_days is None
            else f"{question.retention_days:,} days"
        ),
    ]
    return lines
