"""What a release is made of: pinned, hashed, listed, and published without a password."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from deploy import installs, least_versions, make_requirements, release_check, versions
from hatch_build import BASE, pins, sbom

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "rumor"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_files_of_a_release_agree(tmp_path: Path) -> None:
    assert release_check.release_files(tmp_path).startswith("version ")
    assert release_check.container_requirements(tmp_path).endswith(" hashes")


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of all files that say the version."""
    for name in {"CHANGELOG.md", "src/rumor/__init__.py", *(f[0] for f in versions.FOLLOWERS)}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("follower", [each[0] for each in versions.FOLLOWERS])
def test_another_version_in_one_file_is_noticed_and_written_anew(
    copies: Path, follower: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions.check()
    path = copies / follower
    right = path.read_text(encoding="utf-8")
    with monkeypatch.context() as later:
        later.setattr(versions, "version", lambda: "7.5.3rc12")
        versions.main()
    assert path.read_text(encoding="utf-8") != right
    assert "7.5" in path.read_text(encoding="utf-8")
    for name in {each[0] for each in versions.FOLLOWERS} - {follower}:
        shutil.copy(ROOT / name, copies / name)
    with pytest.raises(AssertionError, match=re.escape(follower)):
        versions.check()
    versions.main()
    assert path.read_text(encoding="utf-8") == right


def test_the_changelog_begins_with_the_version(copies: Path) -> None:
    text = (copies / "CHANGELOG.md").read_text(encoding="utf-8")
    (copies / "CHANGELOG.md").write_text(text.replace("\n## ", "\n## 9.9.9\n\n## ", 1))
    with pytest.raises(AssertionError, match=r"must begin with version .*; got 9\.9\.9"):
        versions.check()


@pytest.mark.parametrize(
    ("python", "npm"),
    [("1.0.0", "1.0.0"), ("1.0.0rc1", "1.0.0-rc.1"), ("2.3.4b10", "2.3.4-b.10")],
)
def test_versions_have_the_form_of_npm(python: str, npm: str) -> None:
    assert versions.npm_version(python) == npm


def test_pages_speak_of_versions_that_there_were() -> None:
    """The changelog has a section for each, or for a candidate of it."""
    sections = set(re.findall(r"(?m)^## (\S+)", text_of("CHANGELOG.md")))
    known = sections | {re.sub(r"rc\d+$", "", version) for version in sections}
    named = re.compile(
        r"\b(?:Rumor|[Vv]ersion|before|since|[Ff]rom|of|until|to|than|in) "
        r"(\d+\.\d+\.\d+(?:rc\d+)?)\b"
    )
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    said = {(p.name, v) for p in pages for v in named.findall(p.read_text(encoding="utf-8"))}
    assert {version for _, version in said} >= sections
    assert {(page, version) for page, version in said if version not in known} == set()


def test_nothing_speaks_of_a_line_of_versions_that_there_never_was() -> None:
    """Sources, too, once spoke of ledgers "from before 0.2"; a line is named with its release."""
    line = re.compile(
        r"\b([Bb]efore|[Ss]ince|[Uu]ntil|older than) (Rumor |version )?\d+\.\d+(?![\d.%])"
    )
    files = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    files += [path for end in ("py", "js", "css", "html") for path in SOURCES.rglob(f"*.{end}")]
    assert line.search("a ledger from before 0.2 knows") is not None
    found = [path.name for path in files if line.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_a_package_without_a_hash_or_of_another_version_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deploy").mkdir()
    monkeypatch.setattr(release_check, "ROOT", tmp_path)
    (tmp_path / "constraints.txt").write_text("numpy==2.0.0\n")
    hashed = f"--hash=sha256:{'a' * 64}"
    for line, wrong in (("numpy==2.0.0", "no hash"), (f"numpy==2.0.1 {hashed}", "is not what")):
        (tmp_path / "deploy" / "requirements.txt").write_text(line + "\n")
        with pytest.raises(AssertionError, match=wrong):
            release_check.container_requirements(tmp_path)


def test_the_container_has_everything_that_a_server_needs() -> None:
    names = {name for name, _, _ in pins(text_of("deploy/requirements.txt"))}
    wanted = {
        re.split(r"[\[>=<]", line)[0]
        for line in make_requirements.wanted() | make_requirements.wanted("server")
    }
    assert wanted <= names
    assert set(BASE) - {"pycparser"} <= names
    recipe = text_of("deploy/Containerfile")
    assert "--require-hashes --requirement deploy/requirements.txt" in recipe
    assert "--no-deps ." in recipe


def test_the_bill_of_materials_is_the_same_every_time() -> None:
    text = f"numpy==2.0.0 \\\n    --hash=sha256:{'a' * 64}\nrich==13.0 --hash=sha256:{'b' * 64}\n"
    bill = sbom("1.2.3", text)
    assert bill == sbom("1.2.3", text) != sbom("1.2.4", text)
    plain = json.loads(json.dumps(bill))
    scopes = {each["purl"]: each["scope"] for each in plain["components"]}
    assert scopes == {"pkg:pypi/numpy@2.0.0": "required", "pkg:pypi/rich@13.0": "optional"}
    assert plain["components"][0]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    refs = plain["dependencies"][0]["dependsOn"]
    assert refs == [each["bom-ref"] for each in plain["components"]]


def test_the_forge_publishes_by_its_own_identity_and_only_what_was_checked() -> None:
    release = text_of(".github/workflows/release.yml")
    assert "id-token: write" in release
    assert "attestations: true" in release
    assert "environment: release" in release
    assert release.index("make release-check") < release.index("make wheel")
    assert not re.search(r"password:|secrets\.|https?://", release)
    # All is attested, the page with its hash too; to the index go packages alone.
    only = "mkdir packages && mv dist/*.whl dist/*.tar.gz packages/"
    steps = [
        release.index(each) for each in ("subject-path: dist/*", only, "gh-action-pypi-publish")
    ]
    assert steps == sorted(steps)
    assert "packages-dir: packages/" in release


def test_the_source_archive_has_what_a_wheel_is_built_from() -> None:
    project = tomllib.loads(text_of("pyproject.toml"))
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"hatch_build.py", "deploy", "src", "README.md", "LICENSE"} <= set(included)
    assert all((ROOT / name).exists() for name in included)


def test_the_answer_page_of_a_wheel_is_that_of_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its SHA-256 is said and written; a wheel whose page differs in one word is no release."""
    monkeypatch.setattr(release_check, "OUT", tmp_path / "out")
    files = {
        path.relative_to(ROOT / "src").as_posix(): path.read_bytes()
        for path in sorted(SOURCES.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    page = "rumor/collector/web/answer.js"
    changed = {**files, page: files[page].replace(b"loading", b"waiting", 1)}
    for name, content in (("same", files), ("other", changed)):
        (tmp_path / name / "one" / "dist").mkdir(parents=True)
        with zipfile.ZipFile(tmp_path / name / "one" / "dist" / "rumor-1.whl", "w") as wheel:
            for path, body in content.items():
                wheel.writestr(path, body)
    said = release_check.answer_page(tmp_path / "same")
    digest = hashlib.sha256((tmp_path / "out" / "rumor-answer.html").read_bytes()).hexdigest()
    assert said.endswith(f"SHA-256 {digest}")
    line = (tmp_path / "out" / "rumor-answer.html.sha256").read_text("utf-8")
    assert line == f"{digest}  rumor-answer.html\n"
    with pytest.raises(AssertionError, match="page of the tree and that of the wheel differ"):
        release_check.answer_page(tmp_path / "other")


def test_folders_that_differ_are_noticed(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for place in (one, two):
        (place / "deep").mkdir(parents=True)
        (place / "deep" / "file").write_bytes(b"the same")
    assert release_check.same_bytes(one, two) == 1
    (two / "deep" / "file").write_bytes(b"other")
    with pytest.raises(AssertionError, match="two builds of deep/file differ"):
        release_check.same_bytes(one, two)
    (two / "more").touch()
    with pytest.raises(AssertionError, match="two builds have files"):
        release_check.same_bytes(one, two)


@pytest.mark.parametrize(
    ("said", "licence", "is_free"),
    [
        (("BSD-3-Clause", None, []), "BSD-3-Clause", True),
        ((None, "long text", ["License :: OSI Approved :: MIT License"]), "MIT License", True),
        ((None, "Apache 2.0\n\nmore", ["License :: OSI Approved"]), "Apache 2.0", True),
        (("LGPL-3.0-only", None, []), "LGPL-3.0-only", True),
        (("GPL-3.0-only", None, []), "GPL-3.0-only", False),
        (("AGPL-3.0-or-later", None, []), "AGPL-3.0-or-later", False),
        ((None, None, []), "not stated", False),
    ],
)
def test_licences_are_read_as_packages_say_them(
    said: tuple[str | None, str | None, list[str]], licence: str, is_free: bool
) -> None:
    package = installs.Package("some", "1", installs.licence(*said))
    assert (package.licence, package.is_free) == (licence, is_free)


def test_an_advisory_in_a_dump_is_found(tmp_path: Path) -> None:
    entries = [
        {"id": "A", "affected": [{"package": {"name": "Some_Thing"}, "versions": ["1", "2"]}]},
        {"id": "B", "affected": [{"package": {"name": "some-thing"}, "versions": ["1"]}]},
        {"id": "C", "withdrawn": "2026-01-01",
         "affected": [{"package": {"name": "some-thing"}, "versions": ["2"]}]},
        {"id": "D", "affected": [{"package": {"name": "other"}, "versions": ["2"]}]},
    ]  # fmt: skip
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as dump:
        for entry in entries:
            dump.writestr(f"{entry['id']}.json", json.dumps(entry))
    pins = {"some.thing": "2", "numpy": "2.0"}
    assert release_check.known_advisories(tmp_path / "all.zip", pins) == ["A (some-thing 2)"]


def test_the_lowest_versions_are_those_of_the_requirements() -> None:
    assert least_versions.lowest({"numpy>=2.0", "psycopg[binary]>=3.2.1", "pyspark>=4,<5"}) == [
        "numpy==2.0", "psycopg[binary]==3.2.1", "pyspark==4",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="must say its lowest version; got 'numpy'"):
        least_versions.lowest({"numpy"})
    for extra in ("all", "excel", "statistics", "spark", "gpu", "demo"):
        assert least_versions.lowest(make_requirements.wanted(extra))
    assert all((ROOT / name).exists() for name in least_versions.TESTS)


def test_this_python_is_found() -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert installs.pythons()[version] == Path(sys.executable)


@pytest.mark.slow
def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    assert release_check.built_twice(tmp_path).startswith("the same bytes")
    assert "sboms/rumor.cdx.json" in release_check.bill_of_materials(tmp_path)


def test_the_documentation_is_searched_without_a_server() -> None:
    plugins = section_of(text_of("mkdocs.yml"), "plugins")
    assert re.findall(r"^  - (\w+)$", plugins, re.MULTILINE) == ["search", "offline"]
    assert "use_directory_urls: false" in text_of("mkdocs.yml")


def test_the_developers_container_has_what_the_tests_need() -> None:
    settings = json.loads(text_of(".devcontainer/devcontainer.json"))
    recipe = text_of(f".devcontainer/{settings['build']['dockerfile']}")
    assert settings["remoteUser"] == "rumor"
    needed = re.findall(r"^need \S+ (\S+)$", text_of(".ci/run"), re.MULTILINE)
    assert len(needed) > 8
    assert [package for package in needed if f" {package} " not in recipe] == []


def test_contributors_find_their_forms() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))
    assert len(forms) >= 3
    for form in forms:
        head = re.match(r"---\nname: .+\nabout: .+\nlabels: \w+\n---\n", form.read_text("utf-8"))
        assert head is not None, form.name
    for name in (*(f".github/ISSUE_TEMPLATE/{form.name}" for form in forms), "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", text_of(name)):
            assert ((ROOT / name).parent / target).exists(), (name, target)
    request = text_of(".github/PULL_REQUEST_TEMPLATE.md")
    for path in ("CHANGELOG.md", "docs/reference/stable.md", "tests/old"):
        assert path in request
        assert (ROOT / path).exists()


def section_of(text: str, name: str) -> str:
    return re.split(r"^\w", text.split(f"\n{name}:\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
