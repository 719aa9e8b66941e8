"""What one part of an audit found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What one part of an audit found."""

    part: str
    passed: bool
    claimed: float
    found: float
    detail: str
