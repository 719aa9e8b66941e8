"""Pictures have the colours of the pages."""

from __future__ import annotations

import re
from importlib import resources

from rumor.results import chart_parts


def test_pictures_and_pages_share_their_ink_and_their_accent() -> None:
    css = resources.files("rumor.collector").joinpath("web/base.css").read_text("utf-8")
    light = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", css.split("@media")[0]))
    assert (light["ink"], light["accent"]) == (chart_parts.INK, chart_parts.LINE)
