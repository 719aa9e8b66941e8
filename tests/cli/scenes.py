"""Every command with every option, each with a value that is not its default.

A scene is one way to run a command: its arguments, whatever stands in the place of the functions
that the command calls, and one more run for each option. `make_wiring` runs them all.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command

from rumor.cli import _run
from rumor.cli.app import app
from rumor.client.client import Receipt, Withdrawal
from rumor.collector.backup import ExportResult
from rumor.collector.store.base import open_store
from rumor.collector.tokens import add_token
from rumor.contract.collection import Collection
from rumor.kinds.planning.planned import PlanCheck
from rumor.privacy.statement.assessment import assessments
from rumor.privacy.statement.deployment import Deployment
from rumor.privacy.statement.statement import statement
from tests.collector.tools import collection, two_rounds
from tests.flow import TOML, home_pages, made_reports, write_days, write_toml
from tests.issuers import KEYS, WISH, blind_collection
from tests.recorded import Collaborators, Notes, Stand, outline, steady
from tests.relay.tools import PEM, relayed

# The parser, put together once: that takes longer than most commands.
COMMANDS = get_command(app)
_TABLES = "collection.toml"


@dataclass(frozen=True)
class Scene:
    """One way to run a command, and what each option is tried with."""

    command: str
    arguments: Mapping[str, str]
    """The arguments by their names, in their order."""
    options: Mapping[str, str]
    """What each option is given, and other arguments by their names; a flag is given nothing."""
    collaborators: Callable[[Collaborators], None]
    given: str = ""
    """Options that every run of this scene has."""
    typed: str = ""
    """What stands in the standard input."""
    is_shown: bool = False
    """Whether the first word of each line that is printed is noted."""

    def line(self, option: str | None = None, name: str | None = None) -> list[str]:
        """Return the command line with an `option` (by one of its names) or without."""
        said = dict(self.arguments)
        more: list[str] = []
        if option is not None and option.startswith("-"):
            more = [name or option, *shlex.split(self.options[option])]
        elif option is not None:
            said[option] = self.options[option]
        placed = [word for text in said.values() for word in shlex.split(text)]
        return [self.command, *placed, *shlex.split(self.given), *more]


def notes_of(scene: Scene, line: list[str], template: Path, folder: Path) -> Notes:
    """Run a command line in a copy of a folder; return what it called, said and wrote."""
    shutil.copytree(template, folder, copy_function=_at_hand)
    before = {path.name for path in folder.iterdir()}
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", "state")
        patch.setattr(sys, "stdin", io.StringIO(scene.typed))
        held = Collaborators(patch)
        scene.collaborators(held)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = _run(COMMANDS, line)
    notes = held.book.notes
    notes["status"] = str(status)
    for name, text in (("stdout", out.getvalue()), ("stderr", err.getvalue())):
        notes[name] = _printed(text.strip())
    if scene.is_shown:
        first = (line.split()[0] for line in out.getvalue().splitlines() if line.strip())
        notes["lines"] = " ".join(first)
    for name in sorted({path.name for path in folder.iterdir()} - before):
        notes[f"new file {name}"] = "written"
    return notes


def _printed(text: str) -> str:
    """Return how a text begins, or what a JSON document has."""
    try:
        return json.dumps(outline(json.loads(text)))
    except ValueError:
        return steady(text)


def _at_hand(source: str, target: str) -> None:
    """Put a file into another folder; a copy only of what is written in place."""
    (shutil.copy if source.endswith(".db") else os.link)(source, target)


def changes(always: Notes, now: Notes) -> dict[str, str]:
    """Return what is not as it always is; "" is what no longer happens."""
    found = {key: now.get(key, "") for key in {**always, **now} if always.get(key) != now.get(key)}
    # Of a call that is not made, its name is enough.
    gone = tuple(f"{key}." for key, value in found.items() if not value and key in always)
    return {key: value for key, value in found.items() if value or not key.startswith(gone)}


def prepare(folder: Path) -> None:
    """Put into a folder whatever the scenes read."""
    write_toml(folder)
    other = TOML.replace("Home pages", "Other pages").replace("What opens", "Which page opens")
    write_toml(folder, other, "other.toml")
    for name in ("answers", "others"):
        rows = "blank,3,DE\nnews,7,FR\nmail,9,DE\n"
        (folder / f"{name}.csv").write_text(f"homepage,medicine,country\n{rows}")
    (folder / "tabs.csv").write_text("homepage\tmedicine\tcountry\nblank\t3\tDE\nnews\t7\tFR\n")
    events = "a,2026-01-05,2026-01-04T20:00:00Z,blank\na,2026-01-14,2026-01-13T20:00:00Z,news\n"
    (folder / "events.csv").write_text(f"who,day,time,homepage\n{events}")
    (folder / "words.txt").write_text("tea\ncoffee\n")
    (folder / "weights.csv").write_text("source,share\nreports.parquet,0.25\nmore.parquet,0.75\n")
    asked = home_pages().question("homepage")
    reports = made_reports(asked, 1500)
    write_days(folder / "reports.parquet", home_pages(), asked, {"2026-01-05": reports})
    medicine = home_pages().question("medicine")
    more = {"2026-01-05": made_reports(medicine, 1200)}
    write_days(folder / "more.parquet", home_pages(), medicine, more)
    collection().save(folder / "open.json")
    collection(name="Another test", series="other").save(folder / "another.json")
    revised = replace(collection(), revision=2, previous=collection().digest)
    revised.save(folder / "revised.json")
    _invited(folder)
    for name in ("gateway.pem", "other.pem"):
        (folder / name).write_bytes(PEM)
    relayed().save(folder / "relayed.json")
    relayed(name="Another relay").save(folder / "relayed2.json")
    relayed(crowd=50, turn_hours=6).save(folder / "turns.json")
    ask = "[ask]\nquestions = 1\ndays = 7\n\n[[questions]]"
    Collection.from_toml(TOML.replace("[[questions]]", ask, 1)).save(folder / "some.json")
    for name in ("relays", "relays2", "analysts"):
        add_token(folder / name, "one")
    (folder / "relay.token").write_text("first-token\n")
    (folder / "relay2.token").write_text("second-token\n")
    two_rounds()[0].save(folder / "rounds.json")
    _stored(folder)


def _invited(folder: Path) -> None:
    for name, series in (("invited", "first"), ("invited2", "second")):
        wish = {
            "name": name,
            "series": series,
            "contact": "x",
            "admission": "invited",
            "questions": [{"id": "q", "kind": "choice", "labels": ["a", "b"], "epsilon": 1.0}],
        }
        Collection.resolve(wish).save(folder / f"{name}.json")
    blind_collection().save(folder / "blind.json")
    blind_collection(name="Other members").save(folder / "blind2.json")
    KEYS.save(folder / "issuer.keys")
    KEYS.save(folder / "other.keys")
    questions = "".join(
        f'[[questions]]\nid = "{q["id"]}"\nkind = "choice"\nlabels = {q["labels"]}\nepsilon = 1.0\n'
        for q in WISH["questions"]  # type: ignore[attr-defined]
    )
    head = 'name = "Members"\nseries = "series"\ncontact = "x"\nadmission = "blind"\n'
    for name in ("members.toml", "members2.toml"):
        (folder / name).write_text((head + questions).replace("'", '"'))


def _stored(folder: Path) -> None:
    """Put stores there: an empty one, one of two collections, and some of one."""
    two = (collection(), collection(series="other"))
    held: dict[str, tuple[Collection, ...]] = {
        "rumor.db": two[:1],
        "second.db": two,
        "empty.db": (),
        "relayed.db": (Collection.load(folder / "relayed.json"),),
        "members.db": (blind_collection(),),
    }
    for name, contracts in held.items():
        store = open_store(f"sqlite:///{folder / name}")
        for contract in contracts:
            store.register(contract)
        store.close()


# Collaborators


def _nothing(held: Collaborators) -> None:
    """Everything is real."""


def _estimating(held: Collaborators) -> None:
    held.stand("rumor.analysis.estimate:analyse", summary=lambda: SimpleNamespace(save=_saved))
    held.stand("rumor.analysis.linked:analyse_linked")
    held.stand("rumor.analysis.combine.method:weigh_reports", _counting(held))
    held.stand("rumor.analysis.combine.method:weigh_stored_people", _counting(held))
    held.stand("rumor.analysis.estimate:open_engine")
    held.stand("rumor.analysis.counted_table:summary_of_counts")
    _publishing(held)
    held.spy("rumor.core.files:write_whole")


def _publishing(held: Collaborators) -> None:
    for name in ("as_markdown", "as_latex"):
        held.stand(f"rumor.results.publication:{name}", f"{name}()")


def _saved(path: str) -> None:
    Path(path).write_text("a summary")


def _desk(*functions: str) -> Callable[[Collaborators], None]:
    def collaborators(held: Collaborators) -> None:
        for function in functions:
            held.stand(function, _counting(held))
        held.stand("rumor.analysis.estimate:open_engine")
        held.stand("rumor.analysis.combine.method:read_weights", ("source", {"one": 0.25}))
        _publishing(held)
        held.spy("rumor.core.files:write_whole")

    return collaborators


def _comparing(held: Collaborators) -> None:
    _desk("rumor.analysis.compare.method:compare_reports")(held)
    samples = home_pages().question("homepage"), ("one", "other")
    held.stand("rumor.analysis.compare.method:count_samples", samples)
    held.stand("rumor.analysis.cheating:cheating", "cheats")


def _regressing(held: Collaborators) -> None:
    _desk()(held)

    known = {
        "heading": "A heading\nand more",
        "predict": lambda path: Stand("predictions", held.book, {}),
        "margins": lambda: Stand("effects", held.book, {}),
    }
    stood = "rumor.analysis.regress.method:regress_reports"
    held.stand(stood, lambda *_, **__: Stand("found", held.book, known))


def _counting(held: Collaborators) -> Callable[..., Stand]:
    """Return a function that starts the engine of what it is given, as for two files."""

    def counted(*given: Any, counting: Any = None, **rest: Any) -> Stand:
        for one in (counting, *(getattr(each, "counting", None) for each in given)):
            if hasattr(getattr(one, "engine", None), "__enter__"):
                for _ in range(2):
                    with one.engine:
                        pass
        return Stand("found", held.book, {"heading": "A heading\nand more"})

    return counted


def _serving(held: Collaborators) -> None:
    held.spy_stores()
    held.stand("rumor.collector.http.server:listen")
    held.stand("rumor.collector.http.server:serve", _announcing)
    held.stand("rumor.collector.service:Service")
    held.stand("rumor.collector.tokens:Tokens", allow=True)
    held.stand("rumor.collector.gateway:Gateway")
    held.spy("rumor.collector.gateway:read_keys")
    held.stand("rumor.collector.relay.store:RelayStore")
    held.stand("rumor.collector.relay.service:RelayService")
    held.stand("rumor.collector.issuing:IssuerService")
    held.spy("rumor.collector.issuer_keys:IssuerKeys.load")


def _announcing(service: object, listener: object, ready: Callable[[str], None]) -> None:
    ready("http://where.example")


def _client_in_groups(held: Collaborators) -> None:
    _client(held, Collection.from_toml(f'groups.land = ["DE", "other"]\n{TOML}'))


def _client(held: Collaborators, contract: Collection | None = None) -> None:
    contract = home_pages() if contract is None else contract
    asked = SimpleNamespace(questions=("homepage",), in_words=lambda: "you are asked")
    held.stand(
        "rumor.client.client:Client",
        collection=lambda: contract,
        assignment=lambda: asked,
        answer=lambda given, groups: Receipt(1, 0, 0),
        flush=lambda: Receipt(0, 0, 0),
        withdraw=lambda questions: Withdrawal(1, 0, 0),
        spent=1.5,
    )


class Learned:
    """A cap that was read from a summary."""

    def __init__(self) -> None:
        self.cap = 17

    def sentence(self) -> str:
        return "The cap was learned."


def _planning(held: Collaborators) -> None:
    choice = SimpleNamespace(name="best", mechanism="a mechanism")
    known = {
        "options": [choice],
        "budget": SimpleNamespace(reports=3),
        "users": 1234,
        "best": choice,
        "topic": SimpleNamespace(unit="share"),
        "simulate": lambda on_progress: PlanCheck(100, 5, "even", (0.1, 0.2), None),
    }
    held.stand("rumor.kinds.planning.plan:make_plan", **known)
    held.stand("rumor.kinds.planning.strategies:plan_many", plan=SimpleNamespace(**known))
    held.stand("rumor.kinds.planning.learned_cap:read_cap", Learned())
    held.stand("rumor.privacy.shuffle.account:shuffle_choices")
    held.stand("rumor.analysis.regress.power:plan_regression")
    held.spy("rumor.core.files:write_whole")


def _simulating(held: Collaborators) -> None:
    held.stand("rumor.kinds.base:Kind.simulate")
    held.spy("rumor.core.answer_table:AnswerTable.open")
    held.stand("rumor.kinds.word_lists:default_cache", "a cache")
    held.stand("rumor.kinds.base:Kind.check_accepts_candidates")


def _privatizing(held: Collaborators) -> None:
    missing = SimpleNamespace(affected_rows=0, sentence=lambda: None)
    made = SimpleNamespace(reports=3, missing=missing)
    held.stand(
        "rumor.contract.table_reports:privatize_questions",
        lambda contract, source, outs, **rest: dict.fromkeys(outs, made),
    )
    held.spy("rumor.contract.privatize:group_sizes")
    held.spy("rumor.core.answer_table:AnswerTable.open")


def _demonstrating(held: Collaborators) -> None:
    held.stand("rumor.demo.crowd:run")
    held.stand("rumor.demo.page:write_page", lambda shown, out: Path(out))
    held.stand("rumor.demo.serving:run")
    held.stand("rumor.demo.relaying:run")


def _drafting(held: Collaborators) -> None:
    held.spy("rumor.contract.drafting:draft_questions")
    held.spy("rumor.contract.drafting:Draft")
    held.spy("rumor.core.files:write_whole")


def _stating(held: Collaborators) -> None:
    whole = statement(home_pages())
    held.stand("rumor.privacy.statement.statement:statement", whole)
    held.stand("rumor.privacy.statement.statement:read_audit", {"passed": True})
    held.stand("rumor.privacy.statement.page:page", "page()")
    held.stand("rumor.privacy.statement.sheet:sheets", "sheets()")
    held.stand("rumor.privacy.statement.page:sheet_page", "sheet_page()")
    held.stand("rumor.privacy.statement.pdf:pdf", b"pdf()")
    held.stand("rumor.privacy.statement.registry:registry_entry", {"entry": 1})
    held.stand("rumor.privacy.statement.assessment:assessments", assessments(home_pages()))
    held.stand("rumor.privacy.statement.deployment:Deployment.load", Deployment())
    held.stand("rumor.privacy.statement.page:assessment_page", "assessment_page()")
    held.spy("rumor.core.files:write_whole")


def _inviting(held: Collaborators) -> None:
    held.spy_stores()
    held.spy("rumor.contract.admission:new_invitation")
    held.stand("rumor.collector.printing:printed_invitations", "printed()")
    held.spy("rumor.core.files:write_whole")


def _keys(held: Collaborators) -> None:
    held.stand("rumor.collector.issuer_keys:IssuerKeys.with_new", lambda self, ids: KEYS)
    held.spy("rumor.collector.issuer_keys:IssuerKeys.save")
    held.spy("rumor.contract.issuing:Issuer")
    held.spy("rumor.core.files:write_whole")


def _moving(held: Collaborators) -> None:
    held.spy_stores()
    done = ExportResult(collection(), 3, 5)
    for name in ("export_collection", "import_collection"):
        held.stand(f"rumor.collector.backup:{name}", done)
    held.stand("rumor.collector.reports_import:import_reports", done)
    held.stand("rumor.collector.reports_import:lost_columns", ["country"])


def _advancing(held: Collaborators) -> None:
    after = SimpleNamespace(
        save=lambda out: Path(out).write_text("{}"),
        digest="d",
        question=lambda: SimpleNamespace(mechanism=SimpleNamespace(round=2, rounds=3, epsilon=0.5)),
    )
    held.stand("rumor.analysis.estimate:analyse", estimates={None: "means"}, reports=9)
    held.stand("rumor.privacy.rounds:next_round", after)


def _adding_up(held: Collaborators) -> None:
    held.stand("rumor.mechanisms.summary:Summary.load", some_ids=())
    known = {"reports": 12, "contract": "c", "question": "q"}
    held.stand("rumor.mechanisms.summary:merge", **known)


def _auditing(held: Collaborators) -> None:
    held.stand("rumor.privacy.audit.certificate:certify", passed=True)
    held.spy("rumor.core.files:write_whole")


def _accounting(held: Collaborators) -> None:
    held.stand("rumor.privacy.account:account")
    held.stand("rumor.privacy.shuffle.account:relay_account")
    held.stand("rumor.privacy.shuffle.account:shuffle_account")


def _attacking(held: Collaborators) -> None:
    held.spy("rumor.mechanisms:Rappor")
    held.stand("rumor.privacy.attack:attack")


def _suspecting(held: Collaborators) -> None:
    held.spy("rumor.mechanisms.poisoning:bound_poisoning")
    held.spy("rumor.mechanisms.poisoning:PoisoningBound.for_clients")
    held.spy("rumor.privacy.integrity:co_support")
    held.spy("rumor.privacy.integrity:bit_counts")


def _drawing(held: Collaborators) -> None:
    made = {"digest": "0" * 64, "questions": [{"reports": [1, 2]}], "device": {"steps": [3]}}
    held.stand("rumor.client.vectors:contract_vectors", made)


def _reproducing(held: Collaborators) -> None:
    held.spy("rumor.cli.papers:_list")
    held.stand("rumor.papers.runner:run", ())
    held.stand("rumor.papers.runner:results")
    held.stand("rumor.papers.runner:measure", {"mse": (0.5, 0.1, 7)})
    held.stand("rumor.papers.runner:as_text", "results()")
    held.stand("rumor.papers.render:provenance", "made()")
    held.stand("rumor.papers.render:in_full", frozenset())
    held.stand("rumor.papers.render:verdicts_in_full", ())
    held.stand("rumor.cli.papers:_run_checklist")
    held.stand("rumor.papers.render:write", _page_of)
    held.stand("rumor.papers.model:Paper.verdicts", ())
    held.spy("rumor.core.files:write_whole")


def _page_of(paper: object, results: object, folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True)
    return {"html": "page.html"}


def _listing(held: Collaborators) -> None:
    held.spy_stores()
    entry = SimpleNamespace(collection=collection())
    held.stand("rumor.collector.next_round:advance", entry)


def _making(held: Collaborators) -> None:
    held.stand("rumor.collector.tokens:add_token", "TOKEN")
    held.stand("rumor.collector.gateway:add_key", "KEY")
    held.stand("rumor.client.modules:integrity", {"client.js": "sha384-x"})
    held.stand("rumor.client.modules:import_map", {"imports": "mapped"})
    held.stand("rumor.cli.show:_facts", {"said by": "_facts"})
    held.stand("rumor.cli.show:_words", "_words()")


# Options that several commands have

_DAYS = {"--from": "2026-01-02", "--to": "2026-01-03"}
_VIEW = {"--level": "0.8", "--of": "people", "--simultaneous": "", "--top": "3"}
_FILES = {
    "--plot": "chart.svg",
    "--plot-width": "85 --plot wide.svg",
    "--csv": "rows.csv",
    "--json": "",
    "--markdown": "",
    "--latex": "",
}
_ENGINE = {"--engine": "gpu", "--master": "local[2]", "--candidates": "words.txt"}
_COUNTED = {
    **_DAYS,
    **_ENGINE,
    "--distinct-ids": "",
    "--skip-invalid": "",
    "--assume": "smooth",
}
_READING = {"--mark": ";", "--missing": "drop", "--separator": "tab"}
_LISTENING = {"--host": "127.0.0.7", "--port": "1234", "--max-connections": "12", "--json": ""}
_PAIR = {"collection": _TABLES, "reports": "reports.parquet"}
_OTHER_PAIR = {"collection": "other.toml", "reports": "more.parquet"}

SCENES: dict[str, Scene] = {
    "demo": Scene(
        "demo",
        {},
        {"--people": "300", "--out": "d.html", "--seed": "7", "--relay": "", "--json": ""},
        _demonstrating,
    ),
    "demo of few": Scene("demo", {}, {"--relay": "", "--seed": "3"}, _demonstrating, "-n 120"),
    "init": Scene(
        "init",
        {"file": "new.toml"},
        {
            "file": "newer.toml",
            "--from": "others.csv",
            "--name": "'A name'",
            "--contact": "us@example.org",
            "--users": "777",
            "--epsilon": "0.5",
            "--reports": "4",
            "--only": "country",
            "--json": "",
        },
        _drafting,
        "--from answers.csv",
    ),
    "show": Scene(
        "show",
        {"collection": _TABLES},
        {"collection": "other.toml", "--contract": "", "--json": ""},
        _making,
    ),
    "show in words": Scene(
        "show",
        {"collection": "relayed.json"},
        {
            "--json": "",
            "collection": "invited.json",
        },
        _nothing,
        is_shown=True,
    ),
    "show somebody blind": Scene(
        "show",
        {"collection": "blind.json"},
        {"--json": "", "collection": "some.json"},
        _nothing,
        is_shown=True,
    ),
    "show rounds": Scene(
        "show",
        {"collection": "rounds.json"},
        {"--json": "", "collection": "turns.json"},
        _nothing,
        is_shown=True,
    ),
    "statement": Scene(
        "statement",
        {"collection": _TABLES},
        {
            "collection": "other.toml",
            "--html": "s.html",
            "--pdf": "s.pdf",
            "--registry": "s.json",
            "--sheet": "sheet.html",
            "--audit": "audit.json",
            "--language": "ja --language en",
            "--assessment": "",
            "--json": "",
        },
        _stating,
    ),
    "statement with an assessment": Scene(
        "statement",
        {"collection": _TABLES},
        {
            "--html": "s.html",
            "--pdf": "s.pdf",
            "--deployment": "operator.toml",
            "--language": "ja --language en",
            "--json": "",
        },
        _stating,
        "--assessment",
    ),
    "statement as a PDF": Scene(
        "statement", {"collection": _TABLES}, {"--language": "zh"}, _stating, "--pdf s.pdf"
    ),
    "plan": Scene(
        "plan",
        {},
        {
            "--kind": "number",
            "--domain": "21",
            "--users": "1e5",
            "--epsilon": "0.25",
            "--error": "0.01",
            "--detect": "0.02",
            "--reports": "4",
            "--lifetime": "2.5",
            "--difference": "0.03",
            "--share": "0.3",
            "--power": "0.9",
            "--groups": "5",
            "--deviation": "0.7",
            "--named": "",
            "--watch": "",
            "--low": "-1",
            "--high": "6",
            "--cap": "8",
            "--parts": "5x4",
            "--cap-from": "how.summary",
            "--questions": "6",
            "--regress": "0.4",
            "--simulate": "",
            "--write": "plan.toml",
            "--plot": "plan.svg",
            "--json": "",
        },
        _planning,
    ),
    "plan among a crowd": Scene(
        "plan", {}, {"--crowd": "500", "--delta": "1e-7", "--json": ""}, _planning,
        "--crowd 400 --delta 1e-6",
    ),
    "plan with a cap that was learned": Scene(
        "plan", {}, {"--cap-from": "other.summary", "--cap": "3", "--json": ""}, _planning,
        "--cap-from how.summary",
    ),
    "plan that is simulated": Scene(
        "plan", {}, {"--questions": "6", "--json": ""}, _planning, "--simulate"
    ),
    "simulate": Scene(
        "simulate",
        {"collection": _TABLES, "histogram": "answers.csv"},
        {
            "collection": "other.toml",
            "histogram": "others.csv",
            "--question": "medicine",
            "--column": "country",
            "--candidates": "words.txt",
            "--people": "99",
            "--trials": "4",
            "--seed": "5",
            "--method": "inversion",
            "--option": "eta=1 --option norm=sum",
            "--level": "0.8",
            "--assume": "smooth",
            "--top": "2",
            "--plot": "s.svg",
            "--json": "",
            **_READING,
        },
        _simulating,
        "-q homepage",
    ),
    "privatize": Scene(
        "privatize",
        {"collection": _TABLES, "table": "answers.csv"},
        {
            "collection": "other.toml",
            "table": "others.csv",
            "--out": "p.parquet",
            "--question": "medicine",
            "--column": "homepage=country",
            "--keep": "country",
            "--weight-column": "country",
            "--day": "2026-01-02",
            "--seed": "5",
            "--randomised": "",
            "--resume": "",
            "--json": "",
            **_READING,
        },
        _privatizing,
        "-o out.parquet",
    ),
    "privatize over reports": Scene(
        "privatize",
        {"collection": _TABLES, "table": "answers.csv"},
        {"--replace": ""},
        _privatizing,
        "-o more.parquet -q homepage",
    ),
    "privatize events": Scene(
        "privatize",
        {"collection": _TABLES, "table": "events.csv"},
        {
            "--person": "time",
            "--each": "last",
            "--cap": "1",
            "--every": "month",
            "--day-column": "time",
            "--time-zone": "Asia/Tokyo",
            "--ledger": "all.people",
        },
        _privatizing,
        "-o out.parquet -q homepage --person who --day-column day --every week --cap 2",
    ),
    "serve": Scene(
        "serve",
        {"collection": "open.json"},
        {
            "collection": "another.json",
            "--store": "sqlite:///new.db",
            "--analyst-token-file": "analysts",
            "--dictionary": "words.txt",
            "--users": "700",
            "--max-rate": "50",
            **_LISTENING,
        },
        _serving,
    ),
    "serve through a relay": Scene(
        "serve",
        {"collection": "relayed.json"},
        {"--gateway-key": "other.pem", "--relay-token-file": "relays2"},
        _serving,
        "-s sqlite:///relayed.db --gateway-key gateway.pem --relay-token-file relays",
    ),
    "serve where no token is": Scene(
        "serve",
        {"collection": "open.json"},
        {"--json": ""},
        _serving,
        "-s sqlite:///made.db --analyst-token-file tokens",
    ),
    "relay": Scene(
        "relay",
        {"collection": "relayed.json"},
        {
            "collection": "relayed2.json",
            "--gateway": "http://other.example",
            "--token-file": "relay2.token",
            "--store": "sqlite:///r.db",
            "--every": "0.5",
            "--max-rate": "50",
            **_LISTENING,
        },
        _serving,
        "--gateway http://gateway.example --token-file relay.token",
    ),
    "relay in a hurry": Scene(
        "relay",
        {"collection": "relayed.json"},
        {"--every": "0.0005"},
        _serving,
        "--gateway http://gateway.example --token-file relay.token",
    ),
    "issue keys": Scene(
        "issue",
        {"action": "keys", "collection": "members.toml"},
        {
            "collection": "members2.toml",
            "--keys": "fresh2.keys",
            "--url": "https://issue.example.com",
            "--json": "",
        },
        _keys,
        "--url https://issue.example.org --keys fresh.keys",
    ),
    "issue invite": Scene(
        "issue",
        {"action": "invite", "collection": "blind.json"},
        {
            "collection": "blind2.json",
            "--store": "sqlite:///people.db",
            "--out": "other.txt",
            "--count": "3",
            "--unbound": "",
            "--json": "",
        },
        _inviting,
        "--out codes.txt -s sqlite:///members.db",
    ),
    "issue invite over a file": Scene(
        "issue",
        {"action": "invite", "collection": "blind.json"},
        {"--out": "answers.csv"},
        _inviting,
        "--out words.txt -s sqlite:///members.db",
    ),
    "issue invite on paper": Scene(
        "issue",
        {"action": "invite", "collection": "blind.json"},
        {"--print": "p.html", "--answer-url": "https://a.example.com/answer"},
        _inviting,
        "-o codes.txt -s sqlite:///members.db --print cards.html "
        "--answer-url https://a.example.org/answer",
    ),
    "issue serve": Scene(
        "issue",
        {"action": "serve", "collection": "blind.json"},
        {
            "collection": "blind2.json",
            "--keys": "other.keys",
            "--store": "sqlite:///people.db",
            **_LISTENING,
        },
        _serving,
        "-s sqlite:///members.db",
    ),
    "issue something else": Scene(
        "issue",
        {"action": "nothing", "collection": "blind.json"},
        {"action": "invite"},
        _inviting,
    ),
    "answer": Scene(
        "answer",
        {"url": "http://a.example"},
        {
            "url": "http://b.example",
            "--state-dir": "mine",
            "--max-epsilon": "3",
            "--digest": "abc",
            "--agree": "",
            "--json": "",
        },
        _client,
        typed="homepage=news\n",
    ),
    "answer by name": Scene(
        "answer",
        {"url": "http://a.example", "questions": "homepage medicine"},
        {"questions": "homepage"},
        _client,
        typed="news\n4\n",
    ),
    "answer nothing": Scene(
        "answer",
        {"url": "http://a.example"},
        {"--invitation": "CODE", "--json": ""},
        _client,
    ),
    "answer with an invitation": Scene(
        "answer",
        {"url": "http://a.example"},
        {"--invitation": "OTHER"},
        _client,
        "--invitation CODE",
        typed='{"homepage": "mail"}',
    ),
    "answer in a group": Scene(
        "answer",
        {"url": "http://a.example"},
        {"--group": "land=DE"},
        _client_in_groups,
        typed="homepage=news\n",
    ),
    "withdraw": Scene(
        "withdraw",
        {"url": "http://a.example", "questions": ""},
        {
            "url": "http://b.example",
            "questions": "homepage medicine",
            "--state-dir": "mine",
            "--json": "",
        },
        _client,
    ),
    "token": Scene(
        "token", {"file": "tokens"}, {"file": "other", "--name": "alice", "--json": ""}, _making
    ),
    "key": Scene("key", {"file": "key.pem"}, {"file": "other.pem", "--json": ""}, _making),
    "modules": Scene(
        "modules",
        {},
        {"--import-map": "https://a.example/client", "--page": "page.html", "--json": ""},
        _making,
    ),
    "invite": Scene(
        "invite",
        {"collection": "invited.json"},
        {
            "collection": "invited2.json",
            "--out": "other.txt",
            "--count": "3",
            "--store": "sqlite:///people.db",
            "--json": "",
        },
        _inviting,
        "-o codes.txt",
    ),
    "invite over a page": Scene(
        "invite",
        {"collection": "invited.json"},
        {"--print": "new.html"},
        _inviting,
        "-o codes.txt --print words.txt --answer-url https://a.example.org/answer",
    ),
    "invite on paper": Scene(
        "invite",
        {"collection": "invited.json"},
        {"--print": "p.html", "--answer-url": "https://a.example.com/answer"},
        _inviting,
        "-o codes.txt --print cards.html --answer-url https://a.example.org/answer",
    ),
    "export": Scene(
        "export",
        {"folder": "backup"},
        {"folder": "other", "--store": "sqlite:///second.db", "--digest": "abc", "--json": ""},
        _moving,
    ),
    "import": Scene(
        "import",
        {"folder": "."},
        {
            "folder": "..",
            "--store": "sqlite:///second.db",
            "--collection": "open.json",
            "--json": "",
        },
        _moving,
    ),
    "collections": Scene(
        "collections",
        {"action": "list"},
        {"action": "nothing", "--store": "sqlite:///second.db", "--json": ""},
        _listing,
    ),
    "collections delete": Scene(
        "collections",
        {"action": "delete", "what": collection().digest[:12]},
        {"action": "close", "what": "abcdef", "--yes": ""},
        _listing,
    ),
    "collections revise": Scene(
        "collections",
        {"action": "revise", "what": "revised.json"},
        {"what": "another.json"},
        _listing,
    ),
    "collections advance": Scene(
        "collections",
        {"action": "advance", "what": "abc"},
        {"what": "def"},
        _listing,
    ),
    "repair": Scene("repair", {}, {"--store": "sqlite:///second.db", "--json": ""}, _listing),
    "estimate": Scene(
        "estimate",
        _PAIR,
        {
            **_OTHER_PAIR,
            **_COUNTED,
            **_VIEW,
            **_FILES,
            "--question": "medicine",
            "--method": "em",
            "--option": "eta=1 --option norm=sum",
            "--fdr": "0.1",
            "--explain": "",
            "--counts": "",
            "--by": "country",
            "--weights": "weights.csv",
            "--weight-column": "weight",
            "--strata": "region",
            "--cluster": "school",
            "--share": "news --share mail",
            "--save-summary": "s.rumor",
            "--earlier": "rounds.json=reports.parquet",
            "--looks": "any",
        },
        _estimating,
        "-q homepage",
    ),
    "estimate watched": Scene(
        "estimate", _PAIR, {"--users": "50000"}, _estimating, "-q homepage --looks any"
    ),
    "estimate weighted": Scene(
        "estimate",
        _PAIR,
        {
            **_OTHER_PAIR,
            **_COUNTED,
            **_VIEW,
            **_FILES,
            "--question": "medicine",
            "--by": "country",
            "--weights": "answers.csv",
        },
        _estimating,
        "--weights weights.csv",
    ),
    "estimate by people's weights": Scene(
        "estimate",
        _PAIR,
        {
            **_OTHER_PAIR,
            **_DAYS,
            **_VIEW,
            **_FILES,
            "--question": "medicine",
            "--skip-invalid": "",
            "--distinct-ids": "",
            "--engine": "gpu",
            "--by": "country",
            "--weights": "weights.csv",
            "--strata": "region",
            "--cluster": "school",
        },
        _estimating,
        "--weight-column weight",
    ),
    "estimate linked": Scene(
        "estimate",
        _PAIR,
        {
            **_OTHER_PAIR,
            **_DAYS,
            **_VIEW,
            **_FILES,
            "--skip-invalid": "",
            "--method": "em",
            "--linked": "other.parquet",
            "--on": "who",
        },
        _estimating,
        "--linked linked.parquet --on person",
    ),
    "compare": Scene(
        "compare",
        {"collection": _TABLES, "one": "reports.parquet", "another": ""},
        {
            "collection": "other.toml",
            "one": "more.parquet",
            "another": "more.parquet",
            "--question": "medicine",
            "--by": "country",
            "--against": "DE",
            "--period": "2026-01-02..2026-01-05 --period 2026-02-01..2026-02-02",
            "--other": "other.toml",
            "--different-people": "",
            "--watch": "",
            "--cheating": "more.parquet",
            **_COUNTED,
            **_VIEW,
            **_FILES,
        },
        _comparing,
    ),
    "compare by people's weights": Scene(
        "compare",
        {"collection": _TABLES, "one": "reports.parquet", "another": ""},
        {
            "another": "more.parquet",
            "--against": "DE",
            "--different-people": "",
            "--watch": "",
            "--weights": "weights.csv",
            "--weight-column": "other",
            "--strata": "region",
            "--cluster": "school",
            **_DAYS,
            **_VIEW,
        },
        _desk("rumor.analysis.compare.method:compare_stored_people"),
        "--by country --weight-column weight",
    ),
    "compare that is watched": Scene(
        "compare",
        {"collection": _TABLES, "one": "reports.parquet", "another": ""},
        {"--users": "50000"},
        _desk("rumor.analysis.compare.method:compare_reports"),
        "--watch",
    ),
    "regress": Scene(
        "regress",
        {**_PAIR, "formula": "'a ~ b'"},
        {
            **_OTHER_PAIR,
            "formula": "'a ~ c'",
            "--question": "medicine",
            "--reference": "news",
            "--linear": "",
            "--predict": "people.csv",
            "--margins": "",
            "--weights": "weights.csv",
            "--weight-column": "weight",
            "--strata": "region",
            "--cluster": "school",
            **_DAYS,
            **_FILES,
            "--level": "0.8",
            "--different-people": "",
            "--distinct-ids": "",
            "--skip-invalid": "",
        },
        _regressing,
    ),
    "combine": Scene(
        "combine",
        {"sources": "collection.toml reports.parquet"},
        {
            "sources": "collection.toml reports.parquet other.toml more.parquet",
            "--question": "medicine",
            "--chosen": "",
            "--weights": "weights.csv",
            "--different-people": "",
            **_COUNTED,
            **_VIEW,
            **_FILES,
        },
        _desk("rumor.analysis.combine.method:combine_reports"),
    ),
    "trend": Scene(
        "trend",
        _PAIR,
        {
            **_OTHER_PAIR,
            "--question": "medicine",
            "--every": "week",
            "--by": "country",
            "--level": "0.8",
            "--top": "3",
            "--different-people": "",
            "--watch": "",
            **_COUNTED,
            **_FILES,
        },
        _desk(
            "rumor.analysis.trend.method:follow_reports",
            "rumor.analysis.trend.method:follow_groups",
            "rumor.analysis.trend.watching:watch_reports",
        ),
    ),
    "trend that is watched": Scene(
        "trend",
        _PAIR,
        {"--every": "day", "--horizon": "26", "--false-alarms": "0.1"},
        _desk("rumor.analysis.trend.watching:watch_reports"),
        "--watch",
    ),
    "merge": Scene(
        "merge",
        {"out": "year.rumor", "summaries": "a.rumor b.rumor"},
        {"out": "other.rumor", "summaries": "b.rumor c.rumor d.rumor", "--json": ""},
        _adding_up,
    ),
    "merge over a file": Scene(
        "merge", {"out": "words.txt", "summaries": "a.rumor"}, {"--force": ""}, _adding_up
    ),
    "advance": Scene(
        "advance",
        {"collection": "rounds.json", "reports": "reports.parquet"},
        {
            "collection": _TABLES,
            "reports": "more.parquet",
            "--out": "r3.json",
            "--skip-invalid": "",
            "--json": "",
        },
        _advancing,
        "-o r2.json",
    ),
    "audit": Scene(
        "audit",
        {"collections": _TABLES},
        {
            "collections": "collection.toml other.toml",
            "--question": "medicine",
            "--samples": "2000",
            "--command": "'node client.mjs'",
            "--seed": "5",
            "--certificate": "c.html",
            "--json": "",
        },
        _auditing,
    ),
    "audit for programs": Scene(
        "audit", {"collections": _TABLES}, {"--certificate": "c.json"}, _auditing
    ),
    "account": Scene(
        "account",
        {"collections": _TABLES},
        {"collections": "collection.toml other.toml", "--days": "9", "--changes": "2",
         "--relay": "", "--json": ""},
        _accounting,
    ),
    "account among a crowd": Scene(
        "account",
        {"collections": _TABLES},
        {"--crowd": "500", "--delta": "1e-7", "--json": ""},
        _accounting,
        "--relay --crowd 400 --delta 1e-6",
    ),
    "attack": Scene(
        "attack",
        {},
        {
            "--bits": "64",
            "--hashes": "3",
            "--cohorts": "8",
            "-f": "0.25",
            "-p": "0.4",
            "-q": "0.8",
            "--words": "20",
            "--people": "30",
            "--seed": "5",
            "--plot": "a.svg",
            "--json": "",
        },
        _attacking,
    ),
    "poisoning": Scene(
        "poisoning",
        {"collection": _TABLES, "reports": "more.parquet"},
        {
            "collection": "other.toml",
            "reports": "reports.parquet",
            "--question": "homepage",
            "--fakes": "4",
            "--seed": "5",
            "--json": "",
        },
        _suspecting,
    ),
    "poisoning by many reports": Scene(
        "poisoning",
        {"collection": _TABLES, "reports": "reports.parquet"},
        {"--max-reports": "1000"},
        _suspecting,
    ),
    "vectors": Scene(
        "vectors",
        {"collection": _TABLES},
        {
            "collection": "other.toml",
            "--out": "vectors.json",
            "--earlier": "collection.toml --earlier other.toml",
        },
        _drawing,
    ),
    "vectors in a file": Scene(
        "vectors",
        {"collection": _TABLES},
        {"--json": ""},
        _drawing,
        "--out vectors.json",
    ),
    "papers": Scene(
        "papers",
        {"action": "list", "name": ""},
        {"action": "nothing", "name": "css2020", "--json": ""},
        _reproducing,
    ),
    "papers checklist": Scene(
        "papers", {"action": "checklist", "name": "css2020"}, {"--json": "", "--run": ""},
        _reproducing,
    ),
    "papers show": Scene(
        "papers",
        {"action": "show", "name": "css2020", "part": "'claims Table 1'"},
        {"part": "'Table 2'", "--json": ""},
        _listing,
    ),
    "papers run": Scene(
        "papers",
        {"action": "run", "name": "css2020"},
        {"name": "all", "--trials": "9", "--quick": "", "--out": "else", "--jobs": "3",
         "--json": ""},
        _reproducing,
    ),
    "papers cell": Scene(
        "papers",
        {"action": "cell", "name": "css2020", "part": "'zipf/Rappor/epsilon 4/1000'"},
        {"part": "'zipf/Rappor/epsilon 1/1000'", "--trials": "9", "--quick": "", "--json": ""},
        _reproducing,
    ),
}  # fmt: skip


def scene_runs() -> Iterator[tuple[str, str | None]]:
    """Every scene as it always is, and with each of its options."""
    for title, scene in SCENES.items():
        yield title, None
        for option in scene.options:
            yield title, option
