"""Refusals as RFC 9457 problem+json: one clear sentence, and a type for programs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

CONTENT_TYPE = b"application/problem+json"

# Every type with its status. Clients decide by the type; the sentence is for people.
TYPES: Mapping[str, int] = {
    "malformed": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "timeout": 408,
    "unknown-collection": 409,
    "id-conflict": 409,
    "no-reports": 409,
    "wrong-turn": 409,
    "not-admitted": 403,
    "closed": 410,
    "too-large": 413,
    "unsupported-type": 415,
    "invalid-report": 422,
    "invalid-query": 422,
    "rate": 429,
    "failed": 500,
    "unavailable": 503,
}


class Problem(Exception):  # noqa: N818 (the word of the standard)
    """A refusal: its type, one sentence, and further members for programs."""

    def __init__(
        self,
        type: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **members: object,
    ) -> None:
        super().__init__(detail)
        self.type, self.status, self.detail = type, TYPES[type], detail
        self.headers, self.members = dict(headers or {}), members

    def body(self) -> bytes:
        """Return the problem document."""
        return msgspec.json.encode(
            {
                "type": f"urn:rumor:problem:{self.type}",
                "title": self.type.replace("-", " "),
                "status": self.status,
                "detail": self.detail,
                **self.members,
            }
        )


def unavailable(detail: str) -> Problem:
    """Return the problem that asks the client to try again in a moment."""
    return Problem("unavailable", detail, headers={"Retry-After": "1"})
