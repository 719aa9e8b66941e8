"""Optional packages: imported by name, or named in an error that says which extra to install.

A device installs little. Packages that only an analyst, a collector or a chart needs come with an
extra of `rumor`.
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
"""The extra of Rumor that installs each optional package, by the name it is imported by."""


class MissingExtraError(InputError, ModuleNotFoundError):
    """An optional package that is not installed; the message says how to install it."""


def import_optional(module: str, what: str) -> Any:
    """Import `module`, or raise the error that names the package to install for `what`."""
    with explain_missing_extra(what):
        return importlib.import_module(module)


@contextlib.contextmanager
def explain_missing_extra(what: str) -> Iterator[None]:
    """Turn a ModuleNotFoundError of the block into an error that says how to install the
    package.
    """
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
    """Return the public name that `load` finds; if it is a function, explain missing packages."""
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
    """Return the message for a package that is not installed, or None if no extra has it."""
    package = (problem.name or "").split(".")[0]
    if package in ("", "rumor"):
        return None
    extra = EXTRAS.get(package)
    how = package if extra is None else f"'rumor[{extra}]'"
    return f"{what} needs {package} (pip install {how}); it is not installed"
