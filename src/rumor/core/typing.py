"""`override`, which Python 3.11 lacks: a mark for type checkers that does nothing at run time.

A type checker refuses a marked method if no base class has it. The method's docstring is that of
the base, so an override that promises nothing more needs none (`typing-modules` of ruff in
pyproject.toml). Once Python 3.12 is the oldest version, `typing.override` replaces this module.
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
