"""Open words in JavaScript: the same bytes as in Python, from a contract to a permanent answer.

Their line in js/mechanisms.js comes with that of the registry; here it is added to a copy.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rumor.core.code_tables import shipped_code
from rumor.mechanisms.open_words import OpenWords
from tests.javascript import node
from tests.vectors.make_vectors import SECRET, vector

ROOT = Path(__file__).parent.parent.parent
LINE = '  "open-words": () => import("./mechanisms/open-words.js"),\n'
SHAPES = (
    ("latin", 4.0, 7, (10, 10, 10, 8, 7, 5, 4, 7), 256),
    ("utf-8", 1.0, 8, (3, 2, 1, 1), 64),
    ("url", 8.0, 13, (5, 4, 3, 2), 1000),
)


def mechanisms() -> list[OpenWords]:
    return [
        *OpenWords.examples(),
        *(
            OpenWords(epsilon=e, code=shipped_code(n), step=b, weights=w, cohorts=k, key=b"key")
            for n, e, b, w, k in SHAPES
        ),
    ]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("open-words")
    for part in ("src/rumor/client/js", "tests/js", "tests/vectors"):
        shutil.copytree(ROOT / part, folder / part)
    table = folder / "src/rumor/client/js/mechanisms.js"
    text = table.read_text("utf-8")
    table.write_text(text.replace('  "basic-rappor":', f'{LINE}  "basic-rappor":'), "utf-8")
    vectors = [vector(number, one) for number, one in enumerate(mechanisms())]
    document = {"secret": SECRET.hex(), "vectors": vectors}
    (folder / "tests/vectors/client.json").write_text(json.dumps(document), "utf-8")
    return node("vectors.mjs", str(folder / "tests/vectors"), scripts=folder / "tests/js")


def test_every_byte_is_the_same(drawn: Any) -> None:
    assert drawn["refused"] == {}
    assert drawn["different"] == []
    # Seven mechanisms, seven words, four turns.
    assert drawn["mechanisms"] == {"open-words": {"kind": "text", "reports": 7 * 7 * 4}}


def test_the_bytes_stay_as_they_are() -> None:
    """Whoever changes these changes what devices send under contracts that exist."""
    reports = [
        one["report"] + one["answer"]
        for number, mechanism in enumerate(mechanisms())
        for one in vector(number, mechanism)["reports"]  # type: ignore[attr-defined]
    ]
    assert hashlib.sha256("".join(reports).encode()).hexdigest()[:16] == "0f4f72837e29aaf5"
