"""The container file: built on a Debian made here, by Debian's own tools, without a registry.

Only its base differs from what people build: Debian's Python in place of the official image's, so
the hashes are those of that Python's wheels. All else is the file as it is.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy import make_requirements
from rumor import Client
from tests.needs import leave_out, needs

ROOT = make_requirements.ROOT
SUITE, PYTHON = "bookworm", "3.11"
PATH = "/opt/python/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WHEELS = "/wheels"


class Builder:
    """buildah with a store of its own, needing no daemon and no more rights than a chroot."""

    def __init__(self, folder: Path) -> None:
        self._command = [
            str(needs("buildah")),
            "--storage-driver=vfs",
            f"--root={folder / 'store'}",
            f"--runroot={folder / 'run'}",
        ]

    def words(self, *arguments: object) -> list[str]:
        """The words of a command."""
        return [*self._command, *map(str, arguments)]

    def __call__(self, *arguments: object) -> str:
        done = subprocess.run(self.words(*arguments), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"buildah {arguments[0]}: {(done.stderr or done.stdout)[-2000:]}")
        return done.stdout.strip()


def base(buildah: Builder, folder: Path) -> str:
    """An image with a `python` as the official one has it; skips where none can be made here."""
    root = folder / "root.tar"
    made = subprocess.run(
        [needs("mmdebstrap"), "--quiet", "--variant=minbase", "--include=python3-venv", SUITE,
         root], capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        leave_out(f"mmdebstrap makes no root here: {_last_line(made.stderr)}")
    settings = folder / "pip.conf"
    settings.write_text(f"[global]\nno-index = true\nfind-links = {WHEELS}\n")
    try:
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, root, "/")
        buildah(
            "run", "--isolation=chroot", container, "--", "python3", "-m", "venv", "/opt/python"
        )
    except RuntimeError as problem:
        leave_out(f"buildah makes no container here: {_last_line(str(problem))}")
    root.unlink()
    buildah("copy", "--quiet", container, settings, "/etc/pip.conf")
    buildah("config", "--env", f"PATH={PATH}", container)
    buildah("commit", "--quiet", "--rm", container, "localhost/python-base")
    return "localhost/python-base"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1]


def sources(folder: Path) -> Path:
    """The tree as the container file takes it, with the hashes for this base's Python."""
    tree = folder / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "Containerfile", tree / "deploy")
    pinned = make_requirements.requirements(PYTHON, [platform.machine()])
    (tree / "deploy" / "requirements.txt").write_text(pinned, encoding="utf-8")
    return tree


def wheels(tree: Path, folder: Path) -> Path:
    """Everything that the build will ask for, so that it needs no network."""
    out = folder / "wheels"
    platforms = [f"--platform={libc}_{platform.machine()}" for libc in make_requirements.GLIBC]
    wanted: Sequence[Sequence[str]] = (
        ["--require-hashes", f"--requirement={tree / 'deploy' / 'requirements.txt'}"],
        ["hatchling", f"--constraint={tree / 'constraints.txt'}"],
    )
    for which in wanted:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", f"--dest={out}",
             "--only-binary=:all:", f"--python-version={PYTHON}", *platforms, *which],
            check=True,
        )  # fmt: skip
    return out


@contextmanager
def served(buildah: Builder, container: str, port: int) -> Iterator[str]:
    """What the image runs when nothing is said, on a port of ours."""
    facts = json.loads(buildah("inspect", container))["OCIv1"]["config"]
    assert facts["User"] == "rumor"
    words = [*facts["Entrypoint"], *facts["Cmd"], "--port", str(port)]
    collection = f"{ROOT / 'examples' / 'browser.toml'}:/collection.toml:ro"
    process = subprocess.Popen(
        buildah.words("run", "--isolation=chroot", "--volume", collection, container, "--", *words)
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def test_what_the_container_runs_serves_and_is_healthy(tmp_path: Path) -> None:
    """The commands of the file, in folders of ours; nothing is built."""
    text = (ROOT / "deploy" / "Containerfile").read_text("utf-8").replace("\\\n", "")
    copied = re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE)
    assert copied
    assert [name for line in copied for name in line.split() if not (ROOT / name).exists()] == []
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    given = re.findall(r"^(ENTRYPOINT|CMD) (\[.+\])$", text, re.MULTILINE)
    said = {name: json.loads(words) for name, words in given}
    (health,) = re.findall(r"^HEALTHCHECK .*? CMD (\[.+\])$", text, re.MULTILINE)
    words = [
        word.replace("/data/", f"{tmp_path}/").replace(
            "/collection.toml", str(ROOT / "examples" / "browser.toml")
        )
        for word in [*said["ENTRYPOINT"][1:], *said["CMD"]]
    ]
    run = "import sys; from rumor.cli import main; sys.exit(main(sys.argv[1:]))"
    program, option, check = json.loads(health)
    assert (program, option, ":8000/" in check) == ("python", "-c", True)
    command = [sys.executable, "-c", run, *words, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            assert _answers(f"http://127.0.0.1:{port}/healthz")
            mine = check.replace(":8000/", f":{port}/")
            subprocess.run([sys.executable, "-c", mine], check=True)
            assert (tmp_path / "rumor.db").exists()
        finally:
            process.terminate()
    gone = subprocess.run([sys.executable, "-c", mine], capture_output=True, check=False)
    assert gone.returncode != 0, "what is not there is not healthy"


@pytest.mark.slow
def test_the_container_file_builds_and_serves(tmp_path: Path) -> None:
    buildah = Builder(tmp_path)
    try:
        image = base(buildah, tmp_path)
        tree = sources(tmp_path)
        buildah(
            "build", "--isolation=chroot", "--build-arg", f"BASE={image}",
            "--volume", f"{wheels(tree, tmp_path)}:{WHEELS}:ro", "--tag", "localhost/rumor",
            "--file", tree / "deploy" / "Containerfile", tree,
        )  # fmt: skip
        container = buildah("from", "localhost/rumor")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with served(buildah, container, port) as url:
            assert _answers(f"{url}/healthz")
            with Client(url, tmp_path / "device") as device:
                assert device.answer({"homepage": "news"}).sent == 1
    finally:
        # Layers are whole roots: nothing that anybody wants to keep.
        shutil.rmtree(tmp_path, ignore_errors=True)


def _answers(url: str) -> bool:
    """Whether an address answers within a minute."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=4) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.2)
    return False
