"""The documentation shows every screenshot that its script makes, and no other."""

from __future__ import annotations

from docs.make_pages import DOCS
from docs.make_screenshots import FOLDER, SHOWN, SIZES, STATES


def test_screenshots_are_made_and_used() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.png" for name in SHOWN}
    page = (DOCS / "how-to" / "dashboard.md").read_text(encoding="utf-8")
    assert [name for name in SHOWN if f"screenshots/{name}.png" not in page] == []
    for state, size, _, _ in SHOWN.values():
        assert state in STATES
        assert size in SIZES
