"""Packages that not every install has: loaded by name, or named in a sentence.

A device installs little. What only an analyst, a collector or a chart needs comes with an extra,
and whoever meets a missing part is told which.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import types
from collections.abc import Callable, Iterator
from typing import Any

from rumor.core.errors import InputError

EXTRAS = {
    "altair": "charts",
    "cupy": "gpu",
    "vl_convert": "charts",
    "numba": "analysis",
    "pyarrow": "analysis",
    "scipy": "analysis",
    "rich": "cli",
    "typer": "cli",
    "pyspark": "spark",
    "py4j": "spark",
    "starlette": "server",
    "uvicorn": "server",
    "msgspec": "server",
    "httptools": "server",
    "uvloop": "server",
    "psycopg": "server",
    "segno": "server",
}
"""What is imported, and the extra of Rumor that installs it."""


class MissingExtraError(InputError, ModuleNotFoundError):  # noqa: N818, it is no error of ours
    """A part of Rumor that this install leaves out; the sentence says how to add it."""


def import_optional(module: str, what: str) -> Any:
    """A module, or the sentence that names what to install for `what`."""
    with explain_missing_extra(what):
        return importlib.import_module(module)


@contextlib.contextmanager
def explain_missing_extra(what: str) -> Iterator[None]:
    """Turn a package that is missing within into the sentence that says how to install it."""
    try:
        yield
    except MissingExtraError:
        raise
    except ModuleNotFoundError as problem:
        sentence = missing_extra_message(problem, what)
        if sentence is None:
            raise
        raise MissingExtraError(sentence) from None


def load_public_name(name: str, load: Callable[[], Any]) -> Any:
    """A public name as `load` finds it; a function whose parts are missing says which."""
    what = f"rumor.{name}"
    with explain_missing_extra(what):
        found = load()
    if not isinstance(found, types.FunctionType):
        return found

    @functools.wraps(found)
    def call(*given: Any, **named: Any) -> Any:
        with explain_missing_extra(what):
            return found(*given, **named)

    return call


def missing_extra_message(problem: ModuleNotFoundError, what: str = "this") -> str | None:
    """The sentence for a package that is not installed; None where it is no part of an extra."""
    package = (problem.name or "").split(".")[0]
    if package in ("", "rumor"):
        return None
    extra = EXTRAS.get(package)
    how = package if extra is None else f"'rumor[{extra}]'"
    return f"{what} needs {package} (pip install {how}); it is not installed"
