"""Who may ask or hand over: a bearer of one of the tokens that a file has hashes of."""

from __future__ import annotations

from rumor.collector.http.problems import Problem
from rumor.collector.tokens import Tokens


def check_bearer(tokens: Tokens | None, authorization: str, what: str, option: str) -> None:
    """Refuse whoever has none of these tokens; `what` needs one, and `option` names their file."""
    if tokens is None:
        raise Problem(
            "forbidden", f"{what} token, and this collector has none (rumor serve {option} FILE)"
        )
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not tokens.allow(token.strip()):
        raise Problem(
            "unauthorized",
            f"{what} token (Authorization: Bearer TOKEN); "
            + ("got one that is not known" if token else "got none"),
            headers={"WWW-Authenticate": "Bearer"},
        )
