"""Everything that is answered, by name: what `answers.json` and `charts.json` keep.

Names are generated from the registries of kinds, methods, options and mechanisms, so that what is
new has a name here, and is missed in the files until they are written anew.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rumor
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.kinds import KINDS
from rumor.kinds.planning import calibration
from rumor.kinds.planning.learned_cap import read_cap
from rumor.kinds.planning.plan import make_plan
from rumor.kinds.planning.strategies import plan_many
from rumor.kinds.reading import TableAnswers
from rumor.kinds.simulation import SimulationSettings
from rumor.kinds.words.code_tables import NAMES, shipped_code
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.poisoning import PoisoningBound, bound_poisoning
from rumor.mechanisms.summary import Summary
from rumor.privacy.account import account
from rumor.privacy.audit.findings import audit_exact, audit_samples
from rumor.privacy.integrity import bit_counts, co_support, craft
from rumor.privacy.rounds import next_round
from rumor.privacy.shuffle.account import shuffle_account
from rumor.privacy.shuffle.crowd import crowd_epsilon
from rumor.results.rows import Tabular
from rumor.results.view import View
from tests.answers.plain import apart, named_by_place, plain
from tests.answers.questions import (
    FURTHER,
    GROUPS,
    SOME,
    collection_of,
    kind_of,
    looked_for,
    mechanism_of,
    questions,
    reports_of,
)
from tests.everything import every_mechanism

Case = Callable[[], Any]

TRIED: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "": {
        "target": ["people"],
        "gap": [1e-2],
        "max_updates": [3],
        "start": ["observed"],
        "max_iterations": [5],
        "tolerance": [1e-3],
        "eta": [1e-2],
        "norm": ["largest", "euclidean"],
        "per_bit": [True],
        "likelihood": ["odds", "probability", "scaled"],
        "assume": ["smooth"],
        "iterations": [7],
        "level": [0.2],
        "beam": [40],
        "decoys": [50],
        "penalties": [[6.0, 3.0]],
        "trim": [3.0],
        "penalty": [0.01],
        "cut": [0.02],
        "theta": [None],
    },
}
"""Values of the options of methods, by kind; those of "" for every kind."""
_NOT_NUMBERS = ("candidates", "on_progress")

VIEWS = {
    "people": View(0.8, of="people"),
    "simultaneous": View(simultaneous=True),
    "three-80": View(0.8, rows=3, order="estimate"),
    "given": View(0.99, order="given", rows=3),
    "ranked": View(order="estimate"),
}


def refused_or(make: Case) -> Any:
    """Return what is answered, or the sentence that refuses it."""
    try:
        return make()
    except InputError as refusal:
        return {"refused": str(refusal)}


# --- Estimates ---------------------------------------------------------------------------------


@functools.cache
def estimate(id: str, people: int, method: str) -> Tabular:
    """Return the estimate of one crowd by a method."""
    found: Tabular = kind_of(id).estimate(
        mechanism_of(id), reports_of(id, people), method, looked_for(id)
    )
    return found


def _shown(found: Tabular, view: View | None = None) -> dict[str, Any]:
    seen = view or View()
    return {"data": found.to_dict(seen), "text": found.table(seen).splitlines()}


def _rows(found: Tabular, view: View) -> Any:
    return found.to_dict(view)["estimates"]


def _estimated(id: str, people: int, method: str, options: Mapping[str, Any]) -> Any:
    first = kind_of(id).methods()[0]
    usual = plain(estimate(id, people, first).to_dict())
    if method == first and not options:
        return usual
    found = kind_of(id).estimate(
        mechanism_of(id), reports_of(id, people), method, {**looked_for(id), **options}
    )
    return apart(plain(found.to_dict()), usual)


def _estimates() -> Iterator[tuple[str, Case]]:
    for id, asked in questions().items():
        for people in asked.sizes:
            for method in KINDS[asked.kind].methods():
                if people != SOME and method not in _QUICK:
                    continue
                yield (
                    f"estimate/{id}/{people}/{method}",
                    functools.partial(_estimated, id, people, method, {}),
                )
        if not id.startswith("kind-"):
            continue
        named: set[str] = set()
        for method, names in KINDS[asked.kind].options().items():
            for name in [name for name in names if name not in named]:
                named.add(name)
                for value in tried(asked.kind, name):
                    yield (
                        f"estimate/{id}/{method}/{name}={value}",
                        functools.partial(_estimated, id, asked.sizes[0], method, {name: value}),
                    )


_QUICK = ("auto", "bayes", "linear", "lasso-ols", "mle")
"""Methods by which crowds of every size are estimated."""


def tried(kind: str, option: str) -> Sequence[Any]:
    """Return the values that an option of a method of a kind is tried with."""
    if option in _NOT_NUMBERS:
        return ()
    known = {**TRIED[""], **TRIED.get(kind, {})}
    if option not in known:
        raise KeyError(f"the option {option!r} of {kind!r} has no value in TRIED of {__file__}")
    return known[option]


def _views(id: str) -> Any:
    found = estimate(id, questions()[id].sizes[-1], "auto")
    usual = plain(found.to_dict()["estimates"])
    shown: dict[str, Any] = {
        name: apart(plain(refused_or(functools.partial(_rows, found, view))), usual)
        for name, view in VIEWS.items()
    }
    shown["text"] = found.table().splitlines()
    shown["few"] = found.table(VIEWS["three-80"]).splitlines()
    values = getattr(found, "values", [])
    shown["together"] = refused_or(lambda: found.together(list(values)[1:3], View(0.9)).to_dict())
    return shown


def _rounds(people: int) -> Any:
    """Return the answers of all rounds of PrivKVM, each with the means of the one before."""
    wish = {"keys": 5, "low": -1, "high": 1, "epsilon": 4.0}
    first = {**wish, "mechanism": {"name": "privkvm", "rounds": 3}}
    contract = collection_of({"id": "asked", "kind": "keyvalue", **first})
    summaries, said = [], []
    for number in range(3):
        mechanism = contract.question().mechanism
        pairs = [{0: 1.0, 1: -1.0}, {0: 0.5, 3: 0.2}, {}, {2: -0.4}]
        crowd = [pairs[person % 4] for person in range(people)]
        reports = mechanism.privatize(crowd, random=Seeded(number))
        summaries.append(Summary.empty(mechanism).update(reports))
        kind = KINDS["keyvalue"]
        said.append(kind.estimate_rounds(summaries, "auto").to_dict())
        if number < 2:
            found = kind.estimate_round(mechanism, summaries[-1])
            contract = next_round(contract, found)
    return said


# --- What is made of several groups ------------------------------------------------------------


def _groups(id: str) -> dict[str, Any]:
    return {name: reports_of(id, SOME, turn) for turn, name in enumerate(GROUPS)}


@functools.cache
def compared(id: str) -> Tabular:
    """Return the differences of three groups."""
    return rumor.compare(mechanism_of(id), _groups(id), **looked_for(id))


@functools.cache
def weighed(id: str) -> Tabular:
    """Return the weighted sum of three groups."""
    weights = {"north": 5, "south": 3, "west": 2}
    found: Tabular = rumor.weigh(mechanism_of(id), _groups(id), weights, **looked_for(id))
    return found


@functools.cache
def combined(id: str) -> Tabular:
    """Return one estimate of two sources that differ in epsilon."""
    sources = {"one": (mechanism_of(id), reports_of(id, SOME))}
    milder = mechanism_of(id, 0.8)
    crowd = reports_of(id, 800, 0, _milder)
    sources["other"] = (milder, crowd)
    return rumor.combine(sources, **looked_for(id))


def _milder(id: str) -> Any:
    return mechanism_of(id, 0.8)


def _days(id: str, people: int = 300) -> dict[str, Any]:
    """Return reports of some days, on the later of which people hold something else."""
    return {
        f"2026-03-{1 + 3 * day:02}": reports_of(id, people + 40 * (day % 2), int(day > 5))
        for day in range(9)
    }


@functools.cache
def followed(id: str, every: str = "day") -> Tabular:
    """Return the trend of a question over some days."""
    return rumor.trend(mechanism_of(id), _days(id), every=every, **looked_for(id))


@functools.cache
def regressed(id: str) -> Tabular:
    """Return what public columns explain of a question."""
    chance = np.random.default_rng(1)
    ages = chance.normal(40, 12, SOME) + np.linspace(0, 9, SOME)
    columns = {"age": ages, "place": chance.choice(["x", "y", "z"], SOME)}
    return rumor.regress(mechanism_of(id), reports_of(id, SOME), columns)


def _few(id: str) -> Any:
    """Return differences, sums and sources of small groups, whose intervals are exact."""
    mechanism, words = mechanism_of(id), looked_for(id)
    one, other = reports_of(id, 60), reports_of(id, 45, 1)
    return {
        "compare": rumor.compare(mechanism, {"a": one, "b": other}, against="b", **words).to_dict(),
        "weigh": rumor.weigh(
            mechanism, {"a": one, "b": other}, {"a": 3, "b": 1}, **words
        ).to_dict(),
        "combine": rumor.combine([(mechanism, one), (mechanism, other)], **words).to_dict(),
    }


def _compared(id: str) -> Any:
    return {
        **_shown(compared(id)),
        "narrow": _rows(compared(id), View(0.8, rows=2)),
        "simultaneous": _rows(compared(id), View(simultaneous=True)),
    }


def _weighed(id: str) -> Any:
    return {**_shown(weighed(id)), "level": _rows(weighed(id), View(0.7))}


def _combined(id: str) -> Any:
    return {**_shown(combined(id)), "level": _rows(combined(id), View(0.7))}


def _followed(id: str) -> Any:
    return {**_shown(followed(id)), "weeks": followed(id, "week").to_dict()}


def _watched(id: str) -> Any:
    """Return what holds at any look: a watch over some days, differences and shown rows."""
    days = {day: reports for day, reports in _days(id).items() if day < "2026-03-20"}
    few = dict(itertools.islice(_groups(id).items(), 2))
    found = {
        "trend": lambda: _shown(_watch(id, _days(id, 3_000), "day")),
        "quiet": lambda: _watch(id, days, "week").table().splitlines(),
        "compare": lambda: _shown(
            rumor.compare(mechanism_of(id), few, **looked_for(id)), View(looks="any", users=900)
        ),
        "views": lambda: _rows(
            estimate(id, questions()[id].sizes[0], "auto"),
            View(0.9, rows=3, order="estimate", looks="any", users=700),
        ),
    }
    return {name: refused_or(make) for name, make in found.items()}


def _watch(id: str, days: Mapping[str, Any], every: str) -> Tabular:
    terms: dict[str, Any] = {"every": every, "horizon": 30, "false_alarms": 0.2}
    return rumor.watch(mechanism_of(id), days, **terms, **looked_for(id))


def _regressed(id: str) -> Any:
    return {**_shown(regressed(id)), "level": _rows(regressed(id), View(0.8))}


VERBS: Mapping[str, Callable[[str], Any]] = {
    "views": _views,
    "few": _few,
    "compare": _compared,
    "weigh": _weighed,
    "combine": _combined,
    "trend": _followed,
}


_ALL_VERBS = (
    *("choice-even", "number-skewed", "ordered-steps", "set-pairs", "keyvalue-capped"),
    *("joint-two", "text-listed"),
)
"""Questions beside the kinds' examples that every verb is asked of."""


def examples() -> list[str]:
    """Return the questions that are the examples of kinds."""
    return [id for id in questions() if id.startswith("kind-")]


# --- Plans and dry runs ------------------------------------------------------------------------

PLANS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "choice": [
        {"domain": 30},
        {"domain": 4, "users": 3_000},
        {"domain": 100, "epsilon": 3.0},
        {"domain": 20, "reports": 365, "epsilon": None, "lifetime": 2.0},
        {"domain": 20, "difference": 0.05, "users": None, "share": 0.2, "groups": 3},
        {"domain": 20, "difference": 0.05, "epsilon": None, "named": True, "power": 0.8},
        {"domain": 50, "users": None, "error": 0.01},
        {"domain": 50, "epsilon": None, "detect": 0.02},
        {"error": 0.005, "users": 100_000},
    ],
    "number": [
        {"low": 0.0, "high": 120.0, "users": 50},
        {"low": 0.0, "high": 1.0, "epsilon": 0.1, "users": 20},
        {"difference": 0.02, "deviation": 0.2, "epsilon": None},
        {"users": None, "error": 0.02},
    ],
    "ordered": [{"domain": 60}, {"domain": 7, "users": None, "error": 0.01}],
    "set": [{"domain": 20, "cap": 3}, {"domain": 6, "epsilon": 3.0}],
    "keyvalue": [{"domain": 20, "low": 0.0, "high": 5.0, "cap": 3}, {"domain": 6}],
    "joint": [{"parts": "5x4"}, {"parts": "3x3x2"}],
    "text": [{"domain": 500}, {"domain": 50, "detect": 0.05, "epsilon": None}],
    "words": [{"users": 1_000_000, "epsilon": 4.0}],
}
"""Further plans of a kind; a user or an epsilon of None is what is asked for."""


def _sizes(kind: str) -> list[dict[str, Any]]:
    usual = {"users": 10_000, "epsilon": 1.0}
    return [{**usual, **said} for said in (KINDS[kind].example().plan, *PLANS.get(kind, ()))]


@functools.cache
def planned(kind: str, number: int) -> Any:
    """Return one of the plans of a kind."""
    return make_plan(kind=kind, **_sizes(kind)[number])


def _planned(kind: str, number: int) -> Any:
    plan = planned(kind, number)
    return {
        "data": plan.to_dict(),
        "text": plan.table().splitlines(),
        "toml": plan.to_toml().splitlines(),
    }


def _several(kind: str) -> Any:
    said: Mapping[str, Any] = KINDS[kind].example().plan
    plan = plan_many(5, kind=kind, users=20_000, epsilon=2.0, **said)
    return {"data": plan.to_dict(), "text": plan.table().splitlines()}


def _tried_plan(kind: str) -> Any:
    said: Mapping[str, Any] = KINDS[kind].example().plan
    plan = make_plan(kind=kind, users=800, epsilon=2.0, **said)
    forecast = plan.simulate(trials=3)
    return vars(forecast)


@functools.cache
def dry_run(kind: str, people: int | None) -> Any:
    """Return the dry run of the people in the example of a kind."""
    example, id = KINDS[kind].example(), f"kind-{kind}"
    mechanism = every_mechanism().question(id).mechanism
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        path.write_text(example.table)
        table = AnswerTable.open(path)
        column = "asked" if "asked" in table.schema.names else None
        trials = SimulationSettings(3, people, random=Seeded(7), words=example.words)
        return KINDS[kind].simulate(mechanism, TableAnswers(table, "asked", column), trials)


def _dry_run(kind: str) -> Any:
    found = dry_run(kind, 400)
    return {"data": found.to_dict(), "text": found.table().splitlines()}


def _learned_cap() -> Any:
    mechanism = mechanism_of("ordered-steps")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary.rumor"
        Summary.empty(mechanism).update(reports_of("ordered-steps", SOME)).save(path)
        found = read_cap(path)
    return {**vars(found), "sentence": found.sentence()}


def _calibrated() -> Any:
    """Return the tables that plans are read off, of which each plan sees a few entries."""
    return {
        name: np.asarray(table).ravel()
        for name, table in vars(calibration).items()
        if isinstance(table, tuple)
    }


def _coded(name: str) -> Any:
    """Return the bits of every symbol in one of the codes for open words."""
    words = shipped_code(name).words
    found = words() if callable(words) else words
    return {
        "lengths": [length for _, length in found.values()],
        "bits": [bits for bits, _ in found.values()],
        "symbols": [str(symbol) for symbol in found],
    }


# --- Privacy -----------------------------------------------------------------------------------


def _hidden(id: str) -> Any:
    mechanism = mechanism_of(id)
    return [crowd_epsilon(mechanism, people, 1e-6) for people in (50, 3_000)]


def _shuffled() -> Any:
    kinds = [KINDS["choice"], KINDS["number"]]
    asked = [
        {"id": kind.name, "kind": kind.name, **kind.example().spec, "epsilon": 1.0}
        for kind in kinds
    ]
    found = shuffle_account([collection_of(*asked)], people=600, delta=1e-7)
    return {"data": found.to_dict(), "text": found.table().splitlines()}


def _spent(kind: str) -> Any:
    wish = {"id": "asked", "kind": kind, **KINDS[kind].example().spec}
    found = account([collection_of(wish)], days=90, changes=3)
    return {"data": found.to_dict(), "text": found.table().splitlines()}


def _crafted(id: str) -> Any:
    """Return what is said of honest reports, and of some with a tenth of crafted ones."""
    mechanism, honest, found = mechanism_of(id), reports_of(id, SOME), {}
    if isinstance(mechanism, FrequencyOracle):
        targets = np.array([1, 2]) % mechanism.domain
        fakes = craft(mechanism, targets, SOME // 10, random=Seeded(3))
        batches = {"honest": honest, "crafted": np.concatenate([honest, fakes])}
        for name, batch in batches.items():
            found[name] = vars(co_support(mechanism, batch))
    shape = mechanism.bit_shape()
    if shape is not None:
        for said, byte in {"full": 0xFF, "empty": 0}.items():
            batch = honest.copy()
            batch[: SOME // 50, shape.head :] = byte
            found[said] = refused_or(functools.partial(_bits, mechanism, batch))
        found["as sent"] = _bits(mechanism, honest)
    return found


def _bits(mechanism: Any, batch: Any) -> Any:
    return vars(bit_counts(mechanism, batch))


def _faked(id: str) -> Any:
    mechanism = mechanism_of(id)
    return {
        "one in a hundred": bound_poisoning(mechanism, 10_000).to_dict(),
        "seven": PoisoningBound.for_clients(mechanism, 500, 7).to_dict(),
        "of some": PoisoningBound.for_trials(mechanism, 5_000, 700.0).to_dict(),
    }


def _audited(id: str) -> Any:
    mechanism = mechanism_of(id)
    mechanism = getattr(mechanism, "without_labels", lambda: mechanism)()
    sampled = audit_samples(mechanism, samples=1_000, random=Seeded(5))
    return {"samples": vars(sampled), "exact": vars(audit_exact(mechanism))}


PRIVACY: Mapping[str, Callable[[str], Any]] = {
    "shuffle": _hidden,
    "integrity": _crafted,
    "poisoning": _faked,
    "audit": _audited,
}


SLOW = (
    *("estimate/words-open*/*/grown", "estimate/kind-words/*/grown", "trend/*words*"),
    "watch/*words*",
    *("estimate/choice-local-hashing/*/em", "estimate/words-open/100000/auto"),
    *("estimate/ordered-bumps/2000/*", "estimate/ordered-round/2000/ems"),
    *("plan/choice/*domain=100", "plan/set/*domain=20,cap=3", "plan/choice/*detect=0.02"),
    *("plan/choice/*error=0.01", "plan/choice/*named=True*", "plan-many/words"),
    *("audit/choice-[!rs]*", "audit/*text*", "audit/*words*"),
    *("audit/set-*", "audit/keyvalue-*", "shuffle/choice-[!ru]*", "plan/words/users=1000000*"),
    *("estimate/words-open-words/*", "views/words-open", "estimate/joint-*/100000/*"),
    *("estimate/keyvalue-many/20000/*", "few/ordered-steps", "trend/ordered-steps"),
    *("plan/choice/*groups=3", "plan-tried/words", "estimate/set-pairs/100000/*"),
    *(
        "estimate/ordered-*/100000/*",
        "trend/text-listed",
        "estimate/text-listed/100000/*",
        "estimate/text-settled/20000/*",
    ),
    *("shuffle/keyvalue-priv*", "shuffle/*text*", "shuffle/*words*", "simulate/words"),
)
"""Patterns of the names of what takes long, whose near relations are answered always."""


# --- All of them -------------------------------------------------------------------------------


def answers() -> dict[str, Case]:
    """Return estimates, and what is made of several groups, by name."""
    found = dict(_estimates())
    for id in [*examples(), *_ALL_VERBS]:
        found |= {f"{verb}/{id}": functools.partial(say, id) for verb, say in VERBS.items()}
    found |= {f"watch/{id}": functools.partial(_watched, id) for id in examples()}
    for id in FURTHER:
        found[f"views/{id}"] = functools.partial(_views, id)
    for id in ("kind-choice", "choice-blocks"):
        found[f"regress/{id}"] = functools.partial(_regressed, id)
    found["rounds/privkvm"] = functools.partial(_rounds, 600)
    return found


def plans() -> dict[str, Case]:
    """Return what is said before anybody is asked, and of what people spend, by name."""
    found: dict[str, Case] = {}
    for kind in KINDS:
        for number, size in enumerate(_sizes(kind)):
            said = ",".join(f"{key}={value}" for key, value in size.items())
            found[f"plan/{kind}/{said}"] = functools.partial(_planned, kind, number)
        found[f"plan-many/{kind}"] = functools.partial(_several, kind)
        found[f"plan-tried/{kind}"] = functools.partial(_tried_plan, kind)
        found[f"simulate/{kind}"] = functools.partial(_dry_run, kind)
        found[f"account/{kind}"] = functools.partial(_spent, kind)
    by_mechanism = {question.mechanism.name: question for question in every_mechanism().questions}
    for question in by_mechanism.values():
        for verb, say in PRIVACY.items():
            found[f"{verb}/{question.id}"] = functools.partial(say, question.id)
    found["shuffle/together"] = _shuffled
    found["cap/learned"] = _learned_cap
    found["tables/calibration"] = _calibrated
    found |= {f"codes/{name}": functools.partial(_coded, name) for name in NAMES}
    return found


@functools.cache
def _style() -> Any:
    """Return the style that all pictures of estimates have."""
    return estimate("kind-choice", SOME, "auto").plot().to_dict()["config"]


def _drawn(chart: Any) -> Any:
    """Return the specification of a picture, without the style of all."""
    spec = chart.to_dict()
    return {key: part for key, part in spec.items() if key != "config" or part != _style()}


def charts() -> dict[str, Case]:
    """Return the Vega-Lite specification of every picture, by name."""
    found: dict[str, Case] = {"style": _style}
    results: dict[str, Callable[[str], Tabular]] = {
        "estimate": lambda id: estimate(id, questions()[id].sizes[0], "auto"),
        "compare": compared,
        "weigh": weighed,
        "combine": combined,
        "trend": followed,
    }
    for id in [*examples(), *FURTHER]:
        of = results if id in examples() else {"estimate": results["estimate"]}
        for verb, result in of.items():
            found[f"{verb}/{id}"] = functools.partial(_picture, result, id)
    for id in examples():
        found[f"truth/{id}"] = functools.partial(_beside_truth, id)
        found[f"strata/{id}"] = functools.partial(_strata, id)
    found["truth/ordered-labels"] = functools.partial(_beside_truth, "ordered-labels")
    found["regress/choice"] = functools.partial(_picture, regressed, "kind-choice")
    for kind in KINDS:
        found[f"plan/{kind}"] = functools.partial(_plan_picture, kind)
    return found


STRATA = 14
"""Groups in a picture of several estimates: more than some pictures show."""
_TRUTHS: Mapping[str, Callable[[Any], Any]] = {
    "number": lambda found: 0.9 * found.mean,
    "keyvalue": lambda found: (found.frequency[::-1], 0.5 * found.mean),
    "joint": lambda found: np.arange(1.0, 7.0) / 21,
}


def _beside_truth(id: str) -> Any:
    """Return the picture of an estimate beside a truth that differs from it."""
    found: Any = estimate(id, SOME, "auto")
    known = _TRUTHS.get(kind_of(id).name, lambda found: found.frequency[::-1])(found)
    return _drawn(found.plot(None, truth=known))


def _strata(id: str) -> Any:
    kind = kind_of(id)
    found = [
        kind.estimate(mechanism_of(id), reports_of(id, people, turn), "auto", looked_for(id))
        for turn, people in enumerate((100, 300, 200))
    ]
    groups = {f"group {number}": found[number % 3] for number in range(STRATA)}
    return _drawn(kind.strata_chart(groups, "place", View(0.9, rows=3), title="What?"))


def _picture(result: Callable[[str], Tabular], id: str) -> Any:
    return _drawn(result(id).plot(None, View(0.9), title="What?"))


def _plan_picture(kind: str) -> Any:
    return planned(kind, 0).plot().to_dict()


def computed(case: Case) -> Any:
    """Return what a case answers, as the files have it."""
    found = refused_or(case)
    is_chart = isinstance(found, Mapping) and "$schema" in found
    return plain(named_by_place(found) if is_chart else found)
