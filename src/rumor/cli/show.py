"""`rumor show`: a collection in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import print_json
from rumor.cli.guarded import print_exactly
from rumor.cli.options import AsJson, CollectionFile, option

if TYPE_CHECKING:
    from rumor.contract.collection import Collection, Question
    from rumor.privacy.promise import QuestionPromise


Contract = Annotated[
    bool, option("--contract", "Print the contract: the canonical JSON that the digest is made of.")
]


def show(
    collection: CollectionFile,
    contract: Contract = False,
    as_json: AsJson = False,
) -> None:
    """Show what a collection asks and what it promises.

    Everything that was left open ("auto") is resolved; the digest is what clients and
    collectors compare.

    \b
    Example:
      rumor show examples/browser.toml
      rumor show examples/browser.toml --contract > contract.json
    """
    from rumor.contract.collection import Collection

    loaded = Collection.load(collection)
    if contract:
        print_exactly(loaded.canonical().decode("utf-8"))
    elif as_json:
        print_json(_facts(loaded))
    else:
        print(_words(loaded))


def _facts(collection: Collection) -> dict[str, object]:
    from rumor.privacy.promise import collection_promise
    from rumor.privacy.sentences import caution

    promise = collection_promise(collection)
    return {
        "name": collection.name,
        "series": collection.series,
        "contact": collection.contact,
        "admission": collection.admission,
        "digest": collection.digest,
        "revision": collection.revision,
        **({} if collection.ask is None else {"ask": collection.ask.contract()}),
        **({} if collection.linked is None else {"linked": list(collection.linked)}),
        **({} if collection.groups is None else {"groups": collection.groups.contract()}),
        **({} if collection.relay is None else {"relay": collection.relay.contract()}),
        **({} if collection.relay is None else {"crowd": _crowd(collection)}),
        "epsilon_most": promise.most,
        "series_epsilon": promise.ceiling,
        "questions": [
            {
                **question.contract(),
                "report_bytes": question.mechanism.width,
                **costs.to_dict(),
                "advice": costs.advice(),
                "caution": caution(question.epsilon),
                **(
                    {}
                    if question.mechanism.warning is None
                    else {"warning": question.mechanism.warning}
                ),
            }
            for question, costs in zip(collection.questions, promise.questions, strict=True)
        ],
    }


def _words(collection: Collection) -> str:
    from rumor.privacy.promise import collection_promise

    promise = collection_promise(collection)
    lines = [
        f"{collection.name} (series {collection.series})",
        f"  contact   {collection.contact}",
        f"  digest    {collection.digest}",
        f"  budget    {promise.in_words()}",
    ]
    if (added := promise.total_in_words()) is not None:
        lines.append(_aside("total", added))
    if (asked := promise.questions_in_words()) is not None:
        lines.append(f"  sampling  each respondent is asked {asked}")
    if (joined := promise.linking_in_words()) is not None:
        lines.append(_aside("linked", joined))
    if collection.groups is not None:
        lines.append(_aside("groups", f"{collection.groups.in_words()}."))
    if collection.series_epsilon is not None:
        lines.append(
            f"  limit     no revision may cost more than epsilon {promise.ceiling:,.6g} in total"
        )
    if collection.previous is not None:
        lines.append(f"  revision  {collection.revision} of {collection.previous[:16]}...")
    if collection.relay is not None:
        said = [f"{collection.relay.in_words()}.", *_crowd(collection)]
        lines += [_aside("" if i else "relay", sentence) for i, sentence in enumerate(said)]
    if collection.admission != "open":
        lines.append("  admission respondents with an invitation")
    if collection.issuer is not None:
        lines.append(f"  issuer    {collection.issuer.url} (blind tokens)")
    for question, costs in zip(collection.questions, promise.questions, strict=True):
        lines += ["", *_question(question, costs, promise.respondents_in_words())]
    return "\n".join(lines)


def _crowd(collection: Collection) -> list[str]:
    """Return sentences on the privacy that shuffling adds, or on why none is promised."""
    from rumor.privacy.shuffle.account import relay_account

    account = relay_account([collection])
    return [] if account is None else account.sentences()


def _question(question: Question, costs: QuestionPromise, whom: str) -> list[str]:
    from rumor.contract.deletion import retention_in_words
    from rumor.core.plain_text import one_line, wrapped
    from rumor.kinds import KINDS
    from rumor.privacy.sentences import caution

    mechanism, labels, width = question.mechanism, question.labels, question.mechanism.width
    lines = [f"{question.id} ({question.kind}): {question.text or 'no text'}"]
    if labels is not None:
        few = ", ".join(_quoted(one_line(label)) for label in labels[:8])
        of = KINDS[question.kind].choice_limit_text(mechanism)
        lines.append(f"  answers   {of}{len(labels):,}: {few}{', ...' if len(labels) > 8 else ''}")
    else:
        lines.append(f"  answers   {KINDS[question.kind].hint(mechanism)}")
    lines += [
        f"  mechanism {mechanism.title}",
        f"  report    {width:,} byte{'s' if width > 1 else ''}",
        f"  epsilon   {question.epsilon:.6g} per report",
        *(f"            {line}" for line in wrapped(costs.in_words()).splitlines()),
        f"  reports   {_reports(costs)} per {whom}"
        + ("" if costs.most == costs.one else f": {_in_all(costs)}"),
        f"  retention {retention_in_words(question.retention_days)}",
    ]
    said = (
        ("warning", mechanism.warning),
        ("advice", KINDS[question.kind].advice(mechanism)),
        ("advice", costs.advice()),
        ("caution", caution(question.epsilon)),
    )
    return lines + [_aside(name, text) for name, text in said if text is not None]


def _quoted(label: str) -> str:
    """Return `label` in quotes where it has a comma, as the list of labels has between them."""
    return f'"{label}"' if "," in label else label


def _reports(costs: QuestionPromise) -> str:
    """Return how many reports a question takes, as text."""
    number = f"{'at most ' if costs.reports > 1 else ''}{costs.reports:,}"
    return number if costs.rounds == 1 else f"{number} in each of {costs.rounds} rounds"


def _aside(name: str, text: str) -> str:
    """Return a wrapped text of several lines under `name`."""
    from rumor.core.plain_text import wrapped

    return f"  {name:<10}" + wrapped(text).replace("\n", "\n            ")


def _in_all(costs: QuestionPromise) -> str:
    """Return the total epsilon of all reports as text: for one answer, and for changing answers."""
    if costs.most == costs.unchanged:
        return f"epsilon {costs.unchanged:.6g} in total"
    one, each = ("one answer", "another every time")
    if costs.period_days is not None:
        one, each = ("one period", "as many periods")
    return f"epsilon {costs.unchanged:.6g} with {one}, {costs.most:.6g} with {each}"
