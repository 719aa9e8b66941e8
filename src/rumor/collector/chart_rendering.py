"""Vega-Lite's work in a process of its own.

Its JavaScript engine holds Python's lock for seconds at a time, and a collector must go on
taking reports meanwhile.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from rumor.results.chart_files import fit_to_draw

_SNIPPET = "window.vega = vega; window.vegaEmbed = vegaEmbed;"
_SCALE = 2
_SECONDS = 120


def picture(format: str, spec: Mapping[str, Any]) -> bytes:
    """Return a chart, given as its Vega-Lite specification, as a picture: "png" or "svg"."""
    return _elsewhere(format, json.dumps(fit_to_draw(spec)).encode())


@functools.cache
def bundle() -> bytes:
    """Return Vega, Vega-Lite and Vega-Embed as one script that sets `vega` and `vegaEmbed`."""
    return _elsewhere("bundle", b"")


def _elsewhere(what: str, given: bytes) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "rumor.collector.chart_rendering", what],
        input=given,
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return done.stdout


def _main(what: str) -> None:
    import vl_convert

    if what == "bundle":
        made = vl_convert.javascript_bundle(_SNIPPET).encode()
    elif what == "svg":
        made = vl_convert.vegalite_to_svg(sys.stdin.buffer.read().decode()).encode()
    else:
        made = vl_convert.vegalite_to_png(sys.stdin.buffer.read().decode(), scale=_SCALE)
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    _main(sys.argv[1])
