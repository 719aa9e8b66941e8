"""Every refusal of the command line is made by one of these lines, and nothing is written then.

The sentences that the sources can say are read from the sources: one that no line here brings out
fails, so that a new refusal has a line. What a command calls is the real thing: it is refused
before.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import rumor.cli
from rumor.cli import _run
from rumor.client.client import Receipt
from rumor.collector.issuer_keys import IssuerKeys
from tests.cli.scenes import COMMANDS, prepare
from tests.flow import home_pages
from tests.issuers import KEYS
from tests.recorded import Collaborators

SOURCES = Path(rumor.cli.__file__).parent
PAIR = "collection.toml reports.parquet"

# A command line, and what it must say; after a bar, what stands in the standard input.
REFUSED = {
    "account collection.toml --relay": "or with collections that name one",
    "account collection.toml --crowd 5 --delta 0.1": "reports are shuffled only by a relay",
    "account collection.toml --crowd 5": "--crowd and --delta go together; got no --delta",
    "account collection.toml --delta 0.1": "--crowd and --delta go together; got no --crowd",
    "answer http://a.example homepage=news": "answers must not be arguments",
    "answer http://a.example homepage homepage": "answered once; got one named twice",
    "answer http://a.example other": "must be named as one of homepage, medicine; got another",
    "answer http://a.example homepage": "'homepage': its answer must be a line of the standard",
    "answer http://a.example | nothing": "line 1 of the standard input: an answer must be QUES",
    "answer http://a.example | other=1": "line 1 of the standard input: a question must be named",
    "answer http://a.example | homepage=news\nhomepage=mail": "line 2 of the standard input: a que",
    "answer http://a.example | {": "must be one JSON object of questions and answers",
    'answer http://a.example | {"homepage": 1, "homepage": 2}': "must be one JSON object",
    "audit collection.toml --certificate c.txt": "must end in .html or .json; got 'c.txt'",
    "audit collection.toml other.toml --certificate c.html": "is of one collection; got 2",
    "collections nothing": "one of list, revise, advance, close, delete; got 'nothing'",
    "collections list abc": "list needs nothing after it; got 'abc'",
    "collections close": "close needs a collection after it; got None",
    "collections revise collection.toml": "a series that the store has; got 'home-pages'",
    "collections delete b2dd": "cannot be undone; add --yes to do it",
    "combine collection.toml": "sources are pairs of a collection and reports; got 1 files",
    f"estimate {PAIR} --from yesterday": "--from must be a day written YYYY-MM-DD; got 'yesterday'",
    f"estimate {PAIR} --to 2026-13-01": "--to must be a day written YYYY-MM-DD",
    "privatize collection.toml answers.csv -o x.parquet --day 2999-01-01": "not lie in the future",
    "init new.toml --only homepage": "--only names columns of a table (--from TABLE); got it alone",
    "merge x.rumor one.rumor two.rumor": "'one.rumor' and 'two.rumor' count some of the same",
    "privatize collection.toml answers.csv -o x.parquet --cap 2": "tables with --person COLUMN",
    "privatize collection.toml answers.csv -o x.parquet --person country --every week": "--cap N",
    "privatize collection.toml answers.csv -o x.parquet --time-zone UTC": "of --day-column; got it",
    "privatize collection.toml answers.csv -o x.parquet --day 2026-01-02 --day-column country": (
        "say --day or --day-column; got both"
    ),
    "privatize parts.toml answers.csv -o x.parquet -c a=country -c a=homepage": "once for a part;",
    f"estimate {PAIR} --csv reports.parquet": "--csv must not replace what is read",
    f"estimate {PAIR} --save-summary reports.parquet": "--save-summary must not replace what is",
    "init x.txt --from answers.csv": "is written to a .toml file; got 'x.txt'",
    "init other.toml --from answers.csv": "is written to a new file; 'other.toml' exists",
    "plan --write other.toml": "is written to a new file; 'other.toml' exists",
    f"estimate {PAIR} --weights weights.csv --method em": "weighted estimates are unbiased ones",
    f"estimate {PAIR} --weights weights.csv --option a=1": "weighted estimates are unbiased ones",
    f"estimate {PAIR} --weights weights.csv --save-summary s": "weighted estimates are unbiased",
    f"estimate {PAIR} --fdr 0.1 --option level=0.2": "is the option level; got both",
    f"estimate {PAIR} --weights weights.csv --counts": "weighed by their reports; got --counts",
    f"estimate {PAIR} --weight-column w --counts": "got --counts with --weight-column",
    f"estimate {PAIR} --cluster c --earlier a=b": "got --earlier with --cluster",
    f"estimate {PAIR} --strata s --by b": "public column of the reports (none); got 'b'",
    f"estimate {PAIR} --strata s --engine gpu": "are read in this process; got --engine gpu",
    f"estimate {PAIR} --weights weights.csv --weights weights.csv": "got 'source' twice",
    f"compare {PAIR} --weight-column w": "(--by); got --weight-column without",
    f"compare {PAIR} --by b --strata s --watch": "are for one look; got --strata with --watch",
    f"estimate {PAIR} --users 9": "--users is for --looks any; got it for one look",
    f"estimate {PAIR} --looks all": "looks must be one of one, any; got 'all'",
    f"estimate {PAIR} --looks any --of people": "for any look are of the \"population\" only",
    f"estimate {PAIR} --linked other.parquet": "--linked and --on go together",
    f"estimate {PAIR} --on person": "--linked and --on go together",
    f"estimate {PAIR} --weights weights.csv --earlier a=b": "estimated without weights",
    f"estimate {PAIR} --earlier rounds.json": "must be COLLECTION=REPORTS",
    "papers list --run": "--run is for checklist; got 'list'",
    "export backup -s sqlite:///second.db": "which of the store's 2 collections to export",
    "import reports.parquet": "or --collection with reports files; got 'reports.parquet' alone",
    "invite invited.json -o words.txt": "must go to a new file; 'words.txt' exists",
    "invite invited.json -o new --print words.txt --answer-url http://a": "'words.txt' exists",
    "invite invited.json -o new --print p.html": "--print and --answer-url go together",
    "invite invited.json -o new --answer-url http://a": "--print and --answer-url go together",
    "invite invited.json -o new --print p.html --answer-url ftp://a": "must be http(s)://HOST/answer",
    "invite open.json -o new": "'A test' is open to anybody",
    "invite blind.json -o new": "has an issuer, who makes them (rumor issue invite)",
    "issue nothing blind.json": "an action must be one of keys, invite, serve; got 'nothing'",
    "issue keys blind.json --url http://a": "keys are written into a .toml file; got 'blind.json'",
    "issue keys members.toml": "keys need --url, where devices will find the issuer; got none",
    "issue keys broken.toml --url http://a": "a collection must be valid TOML",
    "issue keys collection.toml --url http://a": 'with admission = "blind"; got \'open\'',
    "issue keys issued.toml --url http://a": "'issued.toml' has an [issuer] already",
    "issue keys wrong.toml --url http://a": "wrong.toml: ",
    "issue keys members.toml --url http://a --keys strange.keys": "a key file is of one series",
    "issue invite open.json --out new": "an issuer needs a collection with admission",
    "issue serve open.json": "'A test' has 'open'",
    "issue invite blind.json": "invitations need --out, the file to write them to; got none",
    f"compare {PAIR} reports.parquet --users 500": "--users is for --watch; got it for one look",
    f"regress {PAIR} a~b --predict a.csv --margins": "are two tables; got both options",
    f"trend {PAIR} --watch --by country": "--watch follows all reports together; got --by country",
    f"trend {PAIR} --by week": "since --every says its periods; got 'week'",
    f"trend {PAIR} --horizon 12": "--horizon and --false-alarms need --watch; got",
    "merge words.txt a.rumor": "OUT must be a new file (or use --force to replace it)",
    "merge new.rumor a.rumor ./a.rumor": "must be different files; got 'a.rumor' more than once",
    f"estimate {PAIR} --option eta": "--option must be NAME=VALUE; got 'eta'",
    f"estimate {PAIR} --option =1": "--option must be NAME=VALUE; got '=1'",
    f"estimate {PAIR} --option candidates=1": "candidates is given by --candidates",
    f"estimate {PAIR} --option eta=1 --option eta=2": "--option eta must be given once",
    f"estimate {PAIR} --option assume=smooth --assume smooth": "is the option assume; got both",
    "modules --import-map /client --page a.html": "--page and --import-map must not go together",
    "modules --import-map ftp://a": "--import-map must be an address or a path; got 'ftp://a'",
    "demo --people 99": "from 100 to 10,000,000; got '99'",
    "papers nothing": "one of list, run, show, cell, checklist; got 'nothing'",
    "papers run css2020 part": "run takes no part; got 'part'",
    "papers list css2020": "list needs nothing after it; got 'css2020'",
    "papers run": "run needs the name of a paper",
    "papers show css2020 nothing": "a part of css2020 must be one of summary",
    "papers cell css2020": "a cell of css2020 must begin as one does; got None",
    "papers cell css2020 nothing": "a cell of css2020 must begin as one does; got 'nothing'",
    "plan --cap 3 --cap-from how.summary": "a cap is said (--cap) or learned (--cap-from)",
    "privatize collection.toml answers.csv -o x.parquet --resume": "--resume goes on with a folder",
    "privatize collection.toml answers.csv -o x/ --replace": "--replace writes over a file",
    "privatize collection.toml answers.csv -o x.csv": "--out must be a .parquet file, or a folder",
    "privatize some.json answers.csv -o x.parquet -q colour": "leave --question out",
    "privatize collection.toml answers.csv -o reports.parquet -q homepage": "must be a new file",
    "privatize collection.toml answers.csv -o taken.parquet": "'taken-medicine.parquet' exists",
    "privatize collection.toml answers.csv -o x.parquet -c page": "must be ID=NAME where there are",
    "privatize collection.toml answers.csv -o x.parquet -c homepage=a -c homepage=b": "said once f",
    "privatize collection.toml answers.csv -o x.parquet -q homepage -c a -c b": "said once for a q",
    "relay open.json --gateway http://a --token-file relay.token": "needs a collection that names",
    "relay relayed.json --gateway http://a --token-file relay.token --every 0": "must be above 0 a",
    "relay relayed.json --gateway http://a --token-file relay.token --every 8760.5": "a year of ho",
    "relay relayed.json --gateway http://a --token-file words.txt": "must hold the one token that",
    "repair -s sqlite:///none.db": "a store must exist; there is none at 'sqlite:///none.db'",
    "serve relayed.json": "needs --gateway-key FILE and --relay-token-file FILE; got neither",
    "serve relayed.json --gateway-key gateway.pem": "--relay-token-file FILE; got one of them",
    "serve open.json --dictionary reports.parquet": "a dictionary must be UTF-8 text",
    "serve open.json --dictionary empty.txt": "at least one candidate; 'empty.txt' has none",
    "statement collection.toml --html s.pdf": "this file must end in .html; got 's.pdf'",
    "statement collection.toml --pdf s.html": "this file must end in .pdf; got 's.html'",
    "statement collection.toml --assessment --audit a.json": "got --audit with --assessment",
    "statement collection.toml --deployment d.toml": "for an --assessment; got --deployment alone",
    f"estimate {PAIR} --json --latex": "a result is printed in one form; got --json and --latex",
    f"compare {PAIR} reports.parquet --markdown --latex": "got --markdown and --latex",
    f"estimate {PAIR} --plot-width 85": "for a chart's .png or .svg file; got no file",
    f"compare {PAIR} --cheating": "is one estimate from two samples, A and B; got no B",
    f"compare {PAIR} --by b --plot c.html --plot-width 85": "file; got 'c.html'",
    f"estimate {PAIR} --plot c.png --plot-width 5": "must be 20 to 500 mm wide; got 5",
    "statement collection.toml --registry s.html": "this file must end in .json; got 's.html'",
    **{
        f"estimate {PAIR} --linked b --on c {more}": f"got {more.split()[0]} beside it"
        for more in (
            "--question q", "--counts", "--by b", "--weights weights.csv", "--weight-column w",
            "--strata s", "--cluster c", "--distinct-ids",
            "--engine spark", "--master m", "--candidates words.txt", "--fdr 0.1",
            "--option a=1", "--assume smooth", "--save-summary s",
        )
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the scenes, with some files that are wrong."""
    folder = tmp_path_factory.mktemp("refusals") / "template"
    folder.mkdir()
    prepare(folder)
    members = (folder / "members.toml").read_text()
    (folder / "broken.toml").write_text("name = ")
    (folder / "issued.toml").write_text(f"{members}\n[issuer]\nurl = 'http://a'\n")
    (folder / "wrong.toml").write_text(members.replace("epsilon = 1.0", "epsilon = -1.0"))
    IssuerKeys("strange", KEYS.secrets).save(folder / "strange.keys")
    (folder / "empty.txt").write_text("\n \n")
    (folder / "taken-medicine.parquet").write_text("taken")
    shutil.copy(folder / "words.txt", folder / "a.rumor")
    coin = rumor.RandomizedResponse(domain=2, epsilon=1.0)
    for name in ("one", "two"):
        counted = rumor.Summary.from_counts(coin, [1, 0], 1)
        replace(counted, some_ids=("0123456789abcdef",)).save(folder / f"{name}.rumor")
    parts = ", ".join(f'{{id = "{id}", labels = ["x", "y"]}}' for id in "ab")
    head = 'name = "P"\nseries = "p"\ncontact = "nobody"\n'
    joint = f'[[questions]]\nid = "both"\nkind = "joint"\nepsilon = 1\nparts = [{parts}]\n'
    (folder / "parts.toml").write_text(head + joint)
    return folder


def asking(held: Collaborators) -> None:
    """Let there be a collector with a collection of two questions."""
    contract = home_pages()
    asked = SimpleNamespace(questions=("homepage", "medicine"), in_words=lambda: "")
    held.stand(
        "rumor.client.client:Client",
        collection=lambda: contract,
        assignment=lambda: asked,
        answer=lambda given: Receipt(1, 0, 0),
        spent=0.0,
    )
    held.stand("rumor.kinds.planning.learned_cap:read_cap", SimpleNamespace(cap=2))


def refusal(text: str, folder: Path) -> str:
    """Run a command line that must be refused; return what it says, in one line."""
    line, _, typed = text.partition(" | ")
    err, out = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", "state")
        patch.setattr(sys, "stdin", io.StringIO(typed))
        asking(Collaborators(patch))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = _run(COMMANDS, shlex.split(line))
    assert status == 2, f"{text}: {err.getvalue()}"
    assert out.getvalue() == "", text
    *before, last = err.getvalue().strip().splitlines()
    assert before == [], text
    return last


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def sentences() -> Iterator[tuple[str, str]]:
    """Where the command line refuses something, and the form of its sentence."""
    for path in sorted(SOURCES.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            name = ast.unparse(node.exc.func)
            if name == "InputError" and node.exc.args:
                yield f"{path.name}:{node.lineno}", _form(node.exc.args[0])


def _form(told: ast.expr) -> str:
    """The regular expression of a sentence: what is put into it may be anything."""
    if isinstance(told, ast.Constant):
        return re.escape(str(told.value))
    assert isinstance(told, ast.JoinedStr)
    return "".join(
        re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*"
        for part in told.values
    )


def test_every_refusal_is_made_and_writes_nothing(template: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(template, folder)
    before, said = contents(folder), []
    for text, sentence in REFUSED.items():
        said.append(refusal(text, folder))
        assert sentence in said[-1], text
        assert contents(folder) == before, text
    missing = [
        place for place, form in sentences() if not any(re.search(form, one) for one in said)
    ]
    # Said at the keyboard alone, where the person is asked again.
    assert [place.partition(":")[0] for place in missing] == ["init.py", "init.py"]
