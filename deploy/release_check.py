"""Everything that a release has, made and checked on this machine; sizes and times are printed.

    python -m deploy.release_check            (make release-check)
    python -m deploy.release_check --quick    builds and files only, nothing is installed

Wheel and source archive are built twice, from two folders, and must be the same bytes; the wheel
built from the source archive too. The wheel must hold its bill of materials. The container's
requirements must be those of constraints.txt, each with a hash. A small install must stay small,
do what a device needs, and say what is missing. Exit status 1: something does not hold.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from deploy import versions

ROOT = Path(__file__).resolve().parent.parent
MOST_MEGABYTES = 120
"""Of a device's install, packages and Rumor together, without pip."""
MOST_MILLISECONDS = 50
"""For `import rumor`, the least of several fresh processes."""


def main() -> int:
    """Run all checks; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="install nothing")
    quick = parser.parse_args().quick
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checks: list[tuple[str, Callable[[Path], str]]] = [
            ("files of a release", release_files),
            ("container's requirements", container_requirements),
            ("built twice", built_twice),
            ("bill of materials", bill_of_materials),
        ]
        if not quick:
            checks += [("small install", small_install), ("import", import_time)]
        for title, check in checks:
            began = time.perf_counter()
            try:
                said, mark = check(folder), "ok"
            except AssertionError as problem:
                said, mark, failed = str(problem), "FAILED", failed + 1
            print(f"{mark:6}  {title}: {said} ({time.perf_counter() - began:.1f} s)", flush=True)
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
    names = [sorted(path.name for path in each.iterdir()) for each in made]
    assert names[0] == names[1], f"two builds have files {names[0]} and {names[1]}"
    for name in names[0]:
        digests = {hashlib.sha256((each / name).read_bytes()).hexdigest() for each in made}
        assert len(digests) == 1, f"two builds of {name} differ"
    sizes = ", ".join(f"{n} {(made[0] / n).stat().st_size / 1e6:.2f} MB" for n in names[0])
    return f"the same bytes: {sizes}"


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


def small_install(folder: Path) -> str:
    """The wheel alone, in an environment of its own: small, and enough for a device."""
    place = folder / "small"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    constraint = f"--constraint={ROOT / 'constraints.txt'}"
    subprocess.run([*pip, "--no-compile", constraint, str(_wheel(folder))], check=True)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
    example = ROOT / "examples" / "browser.toml"
    answer = (
        "import rumor, sys\n"
        f"c = rumor.Collection.load({str(example)!r})\n"
        f"with rumor.Respondent({str(folder / 'device')!r}, max_epsilon=4) as device:\n"
        "    assert len(device.prepare(c, {'homepage': 'news'})) == 1\n"
    )
    done = subprocess.run([python, "-c", answer], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"a device cannot answer: {done.stderr[-300:]}"
    told = subprocess.run(
        [place / "bin" / "rumor", "show", example], capture_output=True, text=True, check=False
    )
    want = "needs typer (pip install 'rumor[cli]')"
    assert want in told.stderr, f"the command must say that it {want}; it said {told.stderr!r}"
    assert size < MOST_MEGABYTES, f"{size:.0f} MB, and {MOST_MEGABYTES} are allowed"
    return f"{size:.0f} MB with numpy and cryptography (at most {MOST_MEGABYTES}); a device answers"


def import_time(folder: Path) -> str:
    """`import rumor`, in a fresh process of the small install."""
    python = folder / "small" / "bin" / "python"
    clock = "import time; t = time.perf_counter(); import rumor; print(time.perf_counter() - t)"
    times = [
        1000 * float(subprocess.run([python, "-c", clock], capture_output=True, check=True).stdout)
        for _ in range(9)
    ]
    assert min(times) < MOST_MILLISECONDS, f"{min(times):.1f} ms"
    return f"{min(times):.1f} ms, the least of 9 (at most {MOST_MILLISECONDS})"


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
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"the build failed: {done.stderr[-500:]}"
    return place / "dist"


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}


def _wheel(folder: Path) -> Path:
    found = sorted((folder / "one" / "dist").glob("*.whl"))
    assert found, "there is no wheel"
    return found[0]


if __name__ == "__main__":
    sys.exit(main())
