"""The kind "number": one number within a range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumor.core.typing import override
from rumor.kinds.number.question import NumberQuestion

if TYPE_CHECKING:
    from rumor.kinds.planning.planned import Size


class Number(NumberQuestion):
    """One number within a range; its mean is learned."""

    @override
    def largest_error(self, size: Size) -> float:
        return size.span


KIND = Number()
