"""Chart files: HTML, PNG or SVG that can be handed on.

The texts in a chart were written by others: labels, words, names of public columns. So no file
may run them. In HTML the chart is data, every character that could end it is escaped, and the
file's content policy admits one script, its own, by its hash: no other script runs, nothing is
evaluated, and nothing is loaded from anywhere.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike, whole_file
from rumor.core.plain_text import drawable

FORMATS = (".html", ".png", ".svg")
WIDTHS = (20, 500)
"""The least and the most millimetres that a chart is wide."""
_PRINTED = 300  # pixels to the inch
_MM_PER_INCH, _SVG_PER_INCH = 25.4, 72.0
_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"
"""The content policy of a page without scripts."""

# Expressions are interpreted, never compiled ("ast"), so no policy need allow evaluation. The
# menu offers pictures only: its other entries write the data into pages of their own.
_DRAW = """
const said = JSON.parse(document.getElementById("chart").textContent);
const actions = { export: true, source: false, compiled: false, editor: false };
vegaEmbed("#picture", said, { mode: "vega-lite", ast: true, actions });
"""
# What every JavaScript object has. Vega keeps rows and lines in objects, by label: a label of such
# a name is taken for what the object has. A sign that nobody sees makes it a label like others.
_OF_EVERY_OBJECT = frozenset(
    (
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        "__proto__",
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    )
)
_UNSEEN = "\u2060"

_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


class Chart(Protocol):
    """An object with a Vega-Lite specification, such as a chart of altair."""

    def to_dict(self) -> dict[str, Any]:
        """Return the specification."""
        ...

    @classmethod
    def from_dict(cls, dct: dict[str, Any]) -> Self:
        """Return the chart of a specification."""
        ...


C = TypeVar("C", bound=Chart)


def checked_chart_path(path: PathLike) -> str:
    """Return the path of a chart file, or raise an error that names the formats."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"a chart's file must end in {', '.join(FORMATS)}; got {str(path)!r}")
    return str(path)


def checked_width(width: float | None, path: PathLike | None) -> float | None:
    """Return the `width` of a chart in millimetres, if its file at `path` can have one."""
    if width is None:
        return None
    least, most = WIDTHS
    if not least <= width <= most:
        raise InputError(f"a chart must be {least} to {most} mm wide; got {format_value(width)}")
    if path is None or Path(path).suffix.lower() not in (".png", ".svg"):
        got = "no file" if path is None else repr(str(path))
        raise InputError(f"a width in millimetres is for a chart's .png or .svg file; got {got}")
    return width


def save_if_named(chart: C, path: PathLike | None, width: float | None = None) -> C:
    """Return the chart, fit to be drawn in a notebook, written to `path` first if there is one.

    The file is `width` millimetres wide.
    """
    checked_width(width, path)
    if path is not None:
        save_chart(chart, path, width)
    spec = chart.to_dict()
    fit = fit_to_draw(spec)
    return chart if fit == spec else type(chart).from_dict(fit)


def save_chart(chart: Chart, path: PathLike, width: float | None = None) -> None:
    """Write a chart to a file; HTML carries its script inside, so it opens anywhere.

    A picture is `width` millimetres wide, with 300 pixels to the inch, or as large as it is drawn.
    """
    import vl_convert

    suffix = Path(checked_chart_path(path)).suffix.lower()
    checked_width(width, path)
    spec = specification(chart)
    with whole_file(path) as aside:
        if suffix == ".html":
            aside.write_text(chart_page(spec), encoding="utf-8")
        elif suffix == ".svg":
            svg = str(vl_convert.vegalite_to_svg(spec))
            aside.write_text(svg if width is None else _resized(svg, width), encoding="utf-8")
        elif width is None:
            aside.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
        else:
            drawn, _ = _size(str(vl_convert.vegalite_to_svg(spec)))
            scale = width / _MM_PER_INCH * _SVG_PER_INCH / drawn
            aside.write_bytes(vl_convert.vegalite_to_png(spec, scale=scale, ppi=_PRINTED))


def _size(svg: str) -> tuple[float, float]:
    """Return the width and the height of an SVG in its own units."""
    found = _SIZE.search(svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _resized(svg: str, width: float) -> str:
    """Return an SVG that is `width` millimetres wide and keeps its proportions."""
    wide, high = _size(svg)
    size = f'width="{width:g}mm" height="{width * high / wide:.2f}mm"'
    return _SIZE.sub(lambda found: size, svg, count=1)


def chart_svg(chart: Chart) -> str:
    """Return a chart as SVG text, to stand in a page of its own without any script."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(specification(chart)))


def specification(chart: Chart) -> dict[str, Any]:
    """Return a chart's Vega-Lite specification, without anything that cannot be drawn."""
    found: dict[str, Any] = fit_to_draw(chart.to_dict())
    return found


def fit_to_draw(part: Any) -> Any:
    """Return a part of a specification without texts and numbers that cannot be drawn."""
    if isinstance(part, str):
        return part + _UNSEEN if part in _OF_EVERY_OBJECT else drawable(part)
    if isinstance(part, Mapping):
        return {fit_to_draw(key): fit_to_draw(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [fit_to_draw(value) for value in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def chart_page(spec: dict[str, Any]) -> str:
    """Return a specification as an HTML page of its own."""
    script, proof = _script()
    title = spec.get("title", "Chart")
    name = title.get("text", "Chart") if isinstance(title, dict) else title
    policy = f"{POLICY}; script-src {proof}; img-src data: blob:"
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(str(name))}</title>
<body>
<div id="picture"></div>
<script type="application/json" id="chart">{_in_script(spec)}</script>
<script>{script}</script>
</body>
</html>
"""


def _in_script(data: object) -> str:
    """Return JSON that no script element ends in, whatever its texts are."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False).translate(_ESCAPED)


@functools.cache
def _script() -> tuple[str, str]:
    """Return Vega with the lines that draw, and the hash by which the policy admits them."""
    import vl_convert

    script = str(vl_convert.javascript_bundle(_DRAW))
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return script, f"'sha256-{base64.b64encode(digest).decode()}'"
