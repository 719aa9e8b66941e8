"""What type checkers know and Python 3.11 does not: marks that do nothing at run time.

`override` says that a method takes the place of one of a base class. A type checker then refuses
it when the base has no such method any more, and its docstring is that of the base: a method that
promises nothing beyond it needs none of its own (`typing-modules` of ruff in pyproject.toml).

Python 3.12 has `typing.override`; with it as the oldest version, this file goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["override"]

if TYPE_CHECKING:
    # Every type checker brings the stub of this package along; nothing is installed for it.
    from typing_extensions import override
else:
    Method = TypeVar("Method", bound=Callable[..., Any])

    def override(method: Method) -> Method:
        """Mark a method that takes the place of one of a base class."""
        return method
