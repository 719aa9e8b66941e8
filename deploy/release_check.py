"""Everything that a release has, made and checked on this machine, and one page about it.

    python -m deploy.release_check            (make release-check)
    python -m deploy.release_check --quick    builds and files only, nothing is installed

Wheel, source archive, npm package and documentation are built twice, from two folders, and must be
the same bytes; so must the answer page as one file, here and by every install. It goes to
dist/rumor-answer.html, and its SHA-256 beside it. The wheel must hold its bill of materials, the
container's requirements must be those of constraints.txt, each with a hash. Under every Python that
is found, a small install must stay small, do what a device needs and say what is missing, and a
whole install must run the demonstration. The page goes to dist/release.md, too, and the bill of
materials, with licences, to dist/rumor.cdx.json. `--advisories all.zip` compares the packages with
known advisories, from a dump of OSV's database for PyPI that somebody with a network has fetched.
What this machine lacks is left out, and said. Exit status 1: something does not hold.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from deploy import installs, versions

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
PAGE = "rumor-answer.html"
MOST_MEGABYTES = 120
"""Of a device's install, packages and Rumor together, without pip."""
MOST_MILLISECONDS = 50
"""For `import rumor`, the least of several fresh processes."""


class LeftOut(Exception):  # noqa: N818 (no fault of the release)
    """What a check needs is not on this machine."""


def main() -> int:
    """Run all checks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="install nothing")
    parser.add_argument("--advisories", type=Path, help="a dump of OSV's database for PyPI (.zip)")
    options = parser.parse_args()
    quick = options.quick
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checks: list[tuple[str, Callable[[Path], str]]] = [
            ("files of a release", release_files),
            ("container's requirements", container_requirements),
            ("wheel and source archive", built_twice),
            ("bill of materials", bill_of_materials),
            ("answer page", answer_page),
        ]
        if not quick:
            checks += [("npm package", npm_twice), ("documentation", site_twice)]
            found = installs.pythons()
            for version, python in found.items():
                checks += [
                    (f"small, Python {version}", _under(small_install, version, python)),
                    (f"whole, Python {version}", _under(whole_install, version, python)),
                ]
            checks += [(f"Python {v}", _absent) for v in installs.PYTHONS if v not in found]
            checks += [("import", import_time), ("licences", licences)]
            checks.append(("advisories", lambda folder: advisories(folder, options.advisories)))
        lines = [
            f"# Rumor {versions.version()}: release check",
            "",
            "| | what | seconds |",
            "|---|---|---|",
        ]
        for title, check in checks:
            began = time.perf_counter()
            try:
                said, mark = check(folder), "ok"
            except LeftOut as reason:
                said, mark = str(reason), "left out"
            except AssertionError as problem:
                said, mark, failed = str(problem), "FAILED", failed + 1
            seconds = time.perf_counter() - began
            print(f"{mark:8}  {title}: {said} ({seconds:.1f} s)", flush=True)
            lines.append(f"| {mark} | {title}: {said} | {seconds:.1f} |")
        if not quick:
            OUT.mkdir(exist_ok=True)
            (OUT / "release.md").write_text("\n".join([*lines, *licence_table(folder)]) + "\n")
            print(f"the page with all licences: {OUT / 'release.md'}")
    return 1 if failed else 0


def release_files(folder: Path) -> str:
    """The version is said in one place; the papers around a release name it."""
    versions.check()
    for needed in ("paper/paper.md", ".github/workflows/release.yml", "docs/how-to/upgrade.md"):
        assert (ROOT / needed).exists(), f"{needed} is missing"
    return f"version {versions.version()}"


def container_requirements(folder: Path) -> str:
    """Every package has a hash and the version of constraints.txt."""
    from hatch_build import pins

    text = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8")
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    known = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", constraints, re.MULTILINE)
    }
    found = pins(text)
    for name, version, hashes in found:
        assert hashes, f"{name} has no hash"
        assert known.get(name) == version, f"{name} {version} is not what constraints.txt says"
    return f"{len(found)} packages, {sum(len(hashes) for _, _, hashes in found)} hashes"


def built_twice(folder: Path) -> str:
    """Wheel and source archive, from two folders: the same bytes."""
    made = [_built(folder / name) for name in ("one", "two")]
    same_bytes(*made)
    sizes = [
        f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in sorted(made[0].iterdir())
    ]
    return f"the same bytes: {', '.join(sizes)}"


def same_bytes(one: Path, two: Path) -> int:
    """Assert that two folders have the same files; returns how many."""
    names = [
        sorted(str(path.relative_to(each)) for path in each.rglob("*") if path.is_file())
        for each in (one, two)
    ]
    assert names[0], "nothing was built"
    assert names[0] == names[1], f"two builds have files {names[0]} and {names[1]}"
    for name in names[0]:
        digests = {hashlib.sha256((each / name).read_bytes()).hexdigest() for each in (one, two)}
        assert len(digests) == 1, f"two builds of {name} differ"
    return len(names[0])


def npm_twice(folder: Path) -> str:
    """The npm package, built twice with the packages of its lock file: the same bytes."""
    if shutil.which("npm") is None:
        raise LeftOut("npm is missing")
    for name in ("one", "two"):
        _run("make", "npm", f"NPM_OUT={folder / 'npm' / name}", f"PYTHON={sys.executable}")
    same_bytes(folder / "npm" / "one", folder / "npm" / "two")
    (made,) = (folder / "npm" / "one").glob("*.tgz")
    assert versions.npm_version(versions.version()) in made.name, made.name
    return f"the same bytes: {made.name} {made.stat().st_size / 1e6:.2f} MB"


def site_twice(folder: Path) -> str:
    """The documentation, built twice: the same bytes."""
    program = Path(sys.executable).with_name("mkdocs")
    if not program.exists():
        raise LeftOut("mkdocs is missing: make docs installs it")
    for name in ("one", "two"):
        place = str(folder / "site" / name)
        _run(
            str(program),
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            place,
            NO_MKDOCS_2_WARNING="1",
        )
    count = same_bytes(folder / "site" / "one", folder / "site" / "two")
    return f"the same bytes: {count} files, {installs.size_of(folder / 'site' / 'one'):.1f} MB"


def bill_of_materials(folder: Path) -> str:
    """The wheel holds it, and it names this version and the pinned packages."""
    with zipfile.ZipFile(_wheel(folder)) as wheel:
        inside = [name for name in wheel.namelist() if "/sboms/" in name]
        assert len(inside) == 1, f"the wheel must hold one bill of materials; it has {inside}"
        bill = json.loads(wheel.read(inside[0]))
    assert bill["metadata"]["component"]["version"] == versions.version(), (
        "it is of another version"
    )
    required = [each["name"] for each in bill["components"] if each["scope"] == "required"]
    assert {"numpy", "cryptography"} <= set(required), f"it requires {required}"
    return f"{inside[0]}, {len(bill['components'])} components"


def answer_page(folder: Path) -> str:
    """The answer page as one file, from the tree and from the wheel: the same bytes."""
    with zipfile.ZipFile(_wheel(folder)) as wheel:
        wheel.extractall(folder / "wheel")
    code = "import sys; from rumor.collector.answer_page import answer_file; "
    code += "sys.stdout.buffer.write(answer_file())"
    made = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True,
            env={**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": seed},
        ).stdout
        for source, seed in ((ROOT / "src", "1"), (folder / "wheel", "2"))
    ]  # fmt: skip
    assert made[0] == made[1], "the answer page of the tree and that of the wheel differ"
    OUT.mkdir(exist_ok=True)
    (OUT / PAGE).write_bytes(made[0])
    digest = hashlib.sha256(made[0]).hexdigest()
    (OUT / f"{PAGE}.sha256").write_text(f"{digest}  {PAGE}\n", encoding="utf-8")
    return f"the same bytes: {PAGE} {len(made[0]) / 1e6:.2f} MB, SHA-256 {digest}"


def _under(
    check: Callable[[Path, str, Path], str], version: str, python: Path
) -> Callable[[Path], str]:
    return lambda folder: check(folder, version, python)


def _absent(folder: Path) -> str:
    raise LeftOut("there is no such Python here")


def small_install(folder: Path, version: str, python: Path) -> str:
    """The wheel alone: small, enough for a device, and plain about what is missing."""
    place = folder / f"small-{version}"
    constraints = ROOT / "constraints.txt"
    inside = installs.install(python, place, str(_wheel(folder)), constraints=constraints)
    size, example = installs.size_of(place), ROOT / "examples" / "browser.toml"
    answer = (
        "import rumor, sys\n"
        f"c = rumor.Collection.load({str(example)!r})\n"
        f"with rumor.Respondent({str(place / 'device')!r}, max_epsilon=4) as device:\n"
        "    assert len(device.prepare(c, {'homepage': 'news'})) == 1\n"
    )
    done = subprocess.run([inside, "-c", answer], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"a device cannot answer: {done.stderr[-300:]}"
    said = subprocess.run(
        [place / "bin" / "rumor", "show", example], capture_output=True, text=True, check=False
    )
    want = "needs typer (pip install 'rumor[cli]')"
    assert want in said.stderr, f"the command must say that it {want}; it said {said.stderr!r}"
    assert size < MOST_MEGABYTES, f"{size:.0f} MB, and {MOST_MEGABYTES} are allowed"
    return f"{size:.0f} MB with numpy and cryptography (at most {MOST_MEGABYTES}); a device answers"


def whole_install(folder: Path, version: str, python: Path) -> str:
    """The wheel with everything that the README shows; `rumor show` and `rumor demo` run."""
    place = folder / f"whole-{version}"
    wanted = f"rumor[all] @ {_wheel(folder).as_uri()}"
    constraints = ROOT / "constraints.txt"
    installs.install(python, place, wanted, constraints=constraints)
    program, times = str(place / "bin" / "rumor"), []
    for command in (
        ["show", str(ROOT / "examples" / "browser.toml")],
        ["demo", "--people", "2000", "--seed", "1", "--out", str(place / "demo.html")],
    ):
        began = time.perf_counter()
        _run(program, *command)
        times.append(f"rumor {command[0]} in {time.perf_counter() - began:.1f} s")
    assert (place / "demo.html").stat().st_size > 10_000, "the demonstration wrote no page"
    _run(program, "modules", "--page", str(place / PAGE))
    same = (place / PAGE).read_bytes() == (OUT / PAGE).read_bytes()
    assert same, "this install writes another answer page"
    return f"{installs.size_of(place):.0f} MB; {', '.join(times)}"


def import_time(folder: Path) -> str:
    """`import rumor`, in a fresh process of a small install."""
    python = next(folder.glob("small-*")) / "bin" / "python"
    clock = "import time; t = time.perf_counter(); import rumor; print(time.perf_counter() - t)"
    times = [
        1000 * float(subprocess.run([python, "-c", clock], capture_output=True, check=True).stdout)
        for _ in range(9)
    ]
    assert min(times) < MOST_MILLISECONDS, f"{min(times):.1f} ms"
    return f"{min(times):.1f} ms, the least of 9 (at most {MOST_MILLISECONDS})"


def whole_packages(folder: Path) -> list[installs.Package]:
    """Return the packages of a whole install, Rumor left out."""
    python = next(folder.glob("whole-*")) / "bin" / "python"
    return [each for each in installs.packages(python) if each.name != "rumor"]


def licences(folder: Path) -> str:
    """Every package of a whole install says a licence under which it can go along with Rumor."""
    found = whole_packages(folder)
    others = [f"{each.name} ({each.licence})" for each in found if not each.is_free]
    assert not others, f"licences to look at: {', '.join(others)}"
    with zipfile.ZipFile(_wheel(folder)) as wheel:
        (name,) = (name for name in wheel.namelist() if "/sboms/" in name)
        bill = json.loads(wheel.read(name))
    known = {re.sub(r"[-_.]+", "-", each.name).lower(): each.licence for each in found}
    for component in bill["components"]:
        if component["name"] in known:
            component["licenses"] = [{"license": {"name": known[component["name"]]}}]
    OUT.mkdir(exist_ok=True)
    (OUT / "rumor.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    return f"{len(found)} packages; bill of materials with licences in dist/rumor.cdx.json"


def licence_table(folder: Path) -> list[str]:
    """Return the lines of a table of packages, versions and licences."""
    if not list(folder.glob("whole-*")):
        return []
    rows = [f"| {each.name} | {each.version} | {each.licence} |" for each in whole_packages(folder)]
    return ["", "## Licences of what a whole install brings", "", "| package | version | licence |",
            "|---|---|---|", *rows]  # fmt: skip


def advisories(folder: Path, dump: Path | None) -> str:
    """No package of a whole install has a known advisory, by a dump of OSV's database."""
    if dump is None:
        raise LeftOut(
            "they need a network; fetch osv-vulnerabilities' PyPI/all.zip and give --advisories, "
            "or run pip-audit --requirement deploy/requirements.txt"
        )
    pins = {each.name: each.version for each in whole_packages(folder)}
    found = known_advisories(dump, pins)
    assert not found, f"known advisories: {', '.join(found)}"
    return f"none of {len(pins)} packages is in {dump.name}"


def known_advisories(dump: Path, pins: dict[str, str]) -> list[str]:
    """Return the advisories of OSV's `dump` that name a package at the version of `pins`."""
    plain = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    found = []
    with zipfile.ZipFile(dump) as archive:
        for name in archive.namelist():
            entry = json.loads(archive.read(name))
            for affected in () if entry.get("withdrawn") else entry.get("affected", ()):
                package = re.sub(r"[-_.]+", "-", affected["package"]["name"]).lower()
                if plain.get(package) in affected.get("versions", ()):
                    found.append(f"{entry['id']} ({package} {plain[package]})")
    return sorted(set(found))


def _run(*command: str, **environment: str) -> None:
    """Run a command in the repository; raise AssertionError with its last words if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(command[:3])} failed: {done.stderr[-400:]}"


def _built(place: Path) -> Path:
    """The source archive and, from it, the wheel; made from a copy of what git would keep."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    source = place / "source"
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    build = [sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(source)]
    done = subprocess.run(
        build,
        env={**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"the build failed: {done.stderr[-500:]}"
    return place / "dist"


def _wheel(folder: Path) -> Path:
    found = sorted((folder / "one" / "dist").glob("*.whl"))
    assert found, "there is no wheel"
    return found[0]


if __name__ == "__main__":
    sys.exit(main())
