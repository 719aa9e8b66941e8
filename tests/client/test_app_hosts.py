"""The hosts that the documentation shows, as far as they can be run here."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store
from tests.collector.tools import stored
from tests.engines import ROOT, built
from tests.javascript import collection
from tests.needs import leave_out, needs

PAGE = ROOT / "docs" / "how-to" / "apps.md"
COLOUR = {"kind": "choice", "labels": ["red", "blue"], "epsilon": 1.0, "reports_per_person": 2}
Place = tuple[Store, StoredCollection, str]

needs("node")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection(COLOUR))
    with background(Service(store, "series")) as url:
        yield store, entry, url


def shown(language: str) -> str:
    """The first block of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.M)
    assert found is not None
    return found[1]


def test_the_host_for_node_answers(place: Place, tmp_path: Path) -> None:
    store, entry, url = place
    ledger = tmp_path / "ledger.json"
    script = tmp_path / "answer.mjs"
    script.write_text(
        shown("js")
        + f"""
import {{ openDevice }} from {json.dumps(built(kind="mjs").as_uri())};
const [url, ledger] = {json.dumps([url, str(ledger)])};
const device = await openDevice(fileHost(ledger));
const contract = await device.fetchContract(`${{url}}/v1/collection`);
await device.prepare(contract, {{ a: "red" }});
console.log(JSON.stringify(await device.send(url, contract)));
"""
    )
    for _ in range(2):
        done = subprocess.run(
            [str(needs("node")), str(script)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert json.loads(done.stdout)["accepted"] == 1
    assert len(stored(store, entry, "a")) == 2
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("ledger*")] == ["ledger.json"]


@pytest.mark.slow
def test_the_host_in_c_answers(place: Place, tmp_path: Path) -> None:
    store, entry, url = place
    host = _compiled(tmp_path)
    ledger = tmp_path / "ledger.json"
    command = [str(host), str(built()), str(ledger), url, '{"a": "red"}']
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["accepted"] == 1
    assert len(stored(store, entry, "a")) == 2
    third = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert third.stderr.startswith("RumorError: question 'a' takes at most 2 reports of a person")
    command[2] = str(tmp_path / "nowhere" / "ledger.json")
    nowhere = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert nowhere.stderr.startswith(
        "RumorError: save(text) of a host must work; it did not (save:"
    )
    assert len(stored(store, entry, "a")) == 2


def _compiled(folder: Path) -> Path:
    """The host in C, by the command that the page shows, beside the sources in PyPI's package."""
    compiler = needs("cc")
    download = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    pin = next(
        line for line in (ROOT / "constraints.txt").read_text().splitlines() if "quickjs" in line
    )
    done = subprocess.run([sys.executable, *download, pin], cwd=folder, capture_output=True)
    if done.returncode:
        leave_out(
            f"the sources of QuickJS are needed and could not be fetched (PyPI package {pin})"
        )
    (archive,) = folder.glob("quickjs-*.tar.gz")
    subprocess.run(["tar", "xzf", archive.name], cwd=folder, check=True)
    (sources,) = folder.glob("quickjs-*/upstream-quickjs")
    sources.rename(folder / "quickjs")
    (folder / "host.c").write_text(shown("c"))
    command = shown("sh").replace("\\\n", " ").replace("cc -O2", f"{compiler} -O1 -w")
    names = re.sub(
        r"quickjs/\{(.*?)\}\.c",
        lambda m: " ".join(f"quickjs/{n}.c" for n in m[1].split(",")),
        command,
    )
    made = subprocess.run(shlex.split(names), cwd=folder, capture_output=True, text=True)
    if "curl/curl.h" in made.stderr:
        leave_out("curl/curl.h is needed and was not found (Debian package libcurl4-openssl-dev)")
    assert made.returncode == 0, made.stderr
    return folder / "host"
