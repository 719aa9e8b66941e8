"""`rumor plan`: which mechanism, what error, what is detectable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rumor.cli.common import check_new_collection, print_json, progress
from rumor.cli.options import AsJson, Curves, ShuffledBatch, opt, opt_count
from rumor.kinds import NAMES

if TYPE_CHECKING:
    from rumor.kinds.planning.planned import PlanCheck


@dataclass(frozen=True)
class QuestionOptions:
    """Options that describe the question and the respondents."""

    kind: str = opt(
        "--kind KIND",
        f"The kind of question: {', '.join(NAMES[:-1])} or {NAMES[-1]}.",
        default=NAMES[0],
    )
    domain: int | None = opt_count(
        "--domain N", "How many answers, options, candidate words or keys there are."
    )
    users: int | None = opt_count(
        "--users --people N", "How many people will answer (1e5 is fine)."
    )


@dataclass(frozen=True)
class PrecisionOptions:
    """Options for the precision, and for the epsilon of one report and of all."""

    epsilon: float | None = opt("--epsilon E", "The epsilon of one report.")
    error: float | None = opt(
        "--error X", "The target standard error, as a fraction (for means: in their unit)."
    )
    detect: float | None = opt("--detect X", "The smallest share to detect.")
    reports: int | None = opt_count("--reports N", "The number of reports per respondent.")
    lifetime: float | None = opt(
        "--lifetime E", "The total epsilon per respondent, if the answer does not change."
    )


@dataclass(frozen=True)
class GroupOptions:
    """Options for groups to compare; --users is then the size of each group."""

    difference: float | None = opt(
        "--difference X",
        "The difference between two groups to detect; --users is then the size of each.",
    )
    share: float | None = opt("--share F", "The share in the first of two groups (default 0.1).")
    power: float | None = opt("--power P", "The power of the comparison (default 0.8).")
    groups: int | None = opt_count(
        "--groups N", "The number of groups, compared in pairs (default 2)."
    )
    deviation: float | None = opt(
        "--deviation X",
        "The standard deviation within a group (default: that of a uniform distribution).",
    )
    watch: bool = opt(
        "--watch",
        "Plan for a comparison that is read at any time (rumor compare --watch).",
        default=False,
    )
    named: bool = opt(
        "--named",
        "Plan for one row chosen before seeing the data, without Holm adjustment.",
        default=False,
    )


@dataclass(frozen=True)
class ValueOptions:
    """Options for numbers, and for keys with numbers."""

    low: float = opt("--low X", "The lower end of the range of numbers.", default=0.0)
    high: float = opt("--high X", "The upper end of the range of numbers.", default=1.0)
    cap: int | None = opt_count(
        "--cap N", "The largest number of keys or options of one respondent, if known."
    )
    parts: str | None = opt(
        "--parts NxM", "The number of labels of each part of a joint question, such as 5x4."
    )


@dataclass(frozen=True)
class OtherQuestions:
    """Options for earlier and further questions, and for what explains them."""

    cap_from: str | None = opt(
        "--cap-from SUMMARY",
        "Take the cap from a summary of how many options respondents hold.",
    )
    questions: int | None = opt_count(
        "--questions M", "Compare the ways to ask M questions with this epsilon in total."
    )
    regress: float | None = opt(
        "--regress F",
        "Also print the power of a coefficient of rumor regress, for an answer of the share F.",
    )


@dataclass(frozen=True)
class PlanOutput:
    """Options for further output of a plan."""

    simulate: bool = opt(
        "--simulate", "Also measure both errors on simulated reports.", default=False
    )
    write: str | None = opt("--write FILE", "Write a collection file (.toml) to start from.")
    plot: Curves = None
    as_json: AsJson = False


def plan(
    asked: QuestionOptions,
    wanted: PrecisionOptions,
    groups: GroupOptions,
    numbers: ValueOptions,
    crowd: ShuffledBatch,
    further: OtherQuestions,
    also: PlanOutput,
) -> None:
    """Plan respondents, epsilon and error: any two give the third.

    All three give the largest domain. A lifetime says what all reports of a person may cost:
    with their number it gives epsilon, with epsilon their number. For several questions, with
    people and epsilon given, the ways to ask them are compared: epsilon divided over all of
    them, one at random with the whole of it, or some jointly. --crowd states the epsilon of all
    reports of a person that a relay shuffles, in one batch.

    \b
    Examples:
      rumor plan --domain 1000 --users 1e5 --epsilon 1
      rumor plan --domain 50 --users 20000 --detect 0.01
      rumor plan --domain 4 --epsilon 1 --difference 0.05 --share 0.3
      rumor plan --domain 4 --epsilon 1 --difference 0.05 --share 0.3 --watch
      rumor plan --domain 50 --epsilon 1 --error 0.002 --write collection.toml
      rumor plan --domain 20 --users 1e5 --reports 365 --lifetime 2
      rumor plan --domain 2 --users 2500 --epsilon 1 --regress 0.3
      rumor plan --domain 8 --users 1e5 --epsilon 1 --questions 5
      rumor plan --kind text --domain 10000 --users 1e6 --epsilon 2
      rumor plan --kind number --low 0 --high 120 --epsilon 1 --error 0.5
      rumor plan --kind keyvalue --domain 50 --cap 10 --users 1e5 --epsilon 2
      rumor plan --kind keyvalue --domain 50 --cap-from how-many.summary --users 1e5 --epsilon 2
      rumor plan --kind joint --parts 5x4 --users 1e5 --epsilon 1
      rumor plan --domain 50 --users 1e5 --epsilon 2 --crowd 1e4 --delta 1e-8
    """
    from rumor.core.errors import InputError
    from rumor.core.files import write_whole
    from rumor.kinds.planning.plan import make_plan
    from rumor.kinds.planning.strategies import plan_many

    if also.write is not None:
        check_new_collection(also.write)
    given: dict[str, Any] = {"kind": asked.kind, "domain": asked.domain}
    given["users"] = asked.users
    given |= {**vars(wanted), **vars(groups), **vars(numbers)}
    learned = None
    if further.cap_from is not None:
        from rumor.kinds.planning.learned_cap import read_cap

        if numbers.cap is not None:
            raise InputError("a cap is said (--cap) or learned (--cap-from); got both")
        learned = read_cap(further.cap_from)
        given["cap"] = learned.cap
    among = crowd.given()
    many = None if further.questions is None else plan_many(further.questions, **given)
    made = make_plan(**given) if many is None else many.plan
    told = made if many is None else many
    found = None
    if also.simulate:
        with progress("simulating") as on_progress:
            found = made.simulate(on_progress=on_progress)
    if also.write is not None:
        write_whole(also.write, told.to_toml().encode())
    if also.plot is not None:
        made.plot(also.plot)
    hidden = None
    if among is not None:
        from rumor.privacy.shuffle.account import shuffle_choices

        hidden = shuffle_choices(
            [(choice.name, choice.mechanism) for choice in made.options],
            made.budget.reports,
            people=among[0],
            delta=among[1],
            about=made.best.name,
        )
    power = None
    if further.regress is not None:
        from rumor.analysis.regress.power import plan_regression

        power = plan_regression(made.best.mechanism, further.regress, made.users)
    if also.as_json:
        beside: dict[str, object] = {} if hidden is None else {"relay": hidden.to_dict()}
        if learned is not None:
            beside["cap"] = vars(learned)
        if power is not None:
            beside["regression"] = power.to_dict()
        simulated = None if found is None else vars(found)
        print_json({**told.to_dict(), "simulated": simulated, **beside})
        return
    print(told.table())
    if learned is not None:
        from rumor.core.plain_text import wrapped

        print(wrapped(learned.sentence()))
    if hidden is not None:
        print(f"\n{hidden.table()}")
    if power is not None:
        print(f"\n{power.table()}")
    if found is not None:
        print(_simulated(found, made.topic.unit == "share"))


def _simulated(found: PlanCheck, share: bool) -> str:
    from rumor.core.plain_text import wrapped

    def pair(errors: tuple[float, float]) -> str:
        predicted, seen = (f"{x:.3%}" if share else f"{x:.4g}" for x in errors)
        return f"{seen} (predicted {predicted})"

    default = "" if found.default is None else f", of the default {pair(found.default)}"
    return wrapped(
        f"Simulated with {found.people:,} people, {found.trials} times, on {found.truth}: the root "
        f"mean squared error of the linear estimate was {pair(found.linear)}{default}."
    )
