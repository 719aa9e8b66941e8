"""/v1/integrity answers for every question, and the same for the same reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.core import loops
from tests.collector.tools import batch, call


@pytest.mark.parametrize("domain", [3, 5, 8, 20])
def test_every_width_is_tested_and_always_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, domain: int
) -> None:
    """Up to eight values, a report is one byte, and every second of them lies spread out."""
    monkeypatch.setattr(loops, "SMALL_BYTES", 1_000)  # as in a collector that runs for a while
    question = {"id": "q", "kind": "choice", "domain": domain, "epsilon": 1.0}
    names = {"name": "A test", "series": "series", "contact": "nobody@example.org"}
    contract = Collection.resolve({**names, "questions": [{**question, "mechanism": "unary"}]})
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    entry = store.register(contract)
    for _ in range(3):
        store.write([batch(entry, "q", np.arange(1_500) % domain)])
    headers = {"Authorization": f"Bearer {add_token(tmp_path / 'tokens', 'alice')}"}
    tokens = Tokens(tmp_path / "tokens")

    def asked() -> Any:
        with background(Service(open_store(url), "series", tokens=tokens)) as address:
            answers = [call(address, "/v1/integrity/q", headers=headers) for _ in range(2)]
        assert [answer.status for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
        return answers[0].json()

    first = asked()
    assert first["testable"] is True
    assert first["reports"] == 4_500
    assert asked() == first  # nor does a restart make another figure
    store.close()
