"""A million inputs to everything that strangers can hand to Rumor; coverage says where to look."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.fuzz.corpus import kept, put
from tests.fuzz.targets import seeds
from tests.machine.quick import quick_folder
from tests.soak.numbers import done

INPUTS = int(os.environ.get("RUMOR_SOAK_INPUTS", "1000000"))
SEED = int(os.environ.get("RUMOR_SOAK_SEED", "1"))
SHARES = {"contract": 0.30, "summary": 0.30, "body": 0.32, "reports": 0.08}
"""Reading a Parquet file takes ten times as long as the others."""


@pytest.mark.parametrize("name", SHARES)
def test_every_input_is_read_or_refused_with_a_sentence(name: str) -> None:
    pytest.importorskip("atheris", reason="searches that coverage guides need atheris")
    runs = round(SHARES[name] * INPUTS)
    with quick_folder("search") as folder:
        put(folder / "inputs", [*seeds(name), *kept(name)[0], *kept(name)[1]])
        search = subprocess.run(
            [
                *(sys.executable, "-m", "tests.fuzz.search", name, str(folder / "inputs")),
                *(f"-runs={runs}", f"-seed={SEED}", "-max_len=4000", "-timeout=30"),
                *("-rss_limit_mb=4096", f"-artifact_prefix={folder}/"),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        findings = [path.read_bytes() for path in folder.glob("*-*") if path.is_file()]
        said = "\n".join(search.stderr.splitlines()[-40:])
        assert search.returncode == 0, f"{said}\n{findings}"
        found = re.search(r"Done (\d+) runs", search.stderr)
        reached = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", search.stderr)
        assert found is not None, said
        assert int(found.group(1)) >= runs
        count = int(found.group(1))
    done(
        f"search of {name}: {count:,} inputs, {reached[-1][0]} places of the code reached, "
        f"{reached[-1][2]} inputs worth keeping, no finding",
        inputs=count,
    )
