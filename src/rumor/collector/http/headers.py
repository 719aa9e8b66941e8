"""Who may ask or hand over: a bearer of one of the tokens that a file has hashes of.

What every response says to a browser: run nothing, frame nothing, tell nobody.

A response is data until a page of ours says otherwise, so the policy that all responses carry
allows nothing at all; the pages name the few things that they load. There is no inline script or
style anywhere, nothing from another site, and no cookie. Strict-Transport-Security is left to
the proxy that has the certificate.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rumor.collector.http.connections import sender
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


_SENSORS = ("browsing-topics", "camera", "geolocation", "microphone", "payment", "usb")

_CLOSED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
DATA_POLICY = f"default-src 'none'; {_CLOSED}"


def _page(*reached: str) -> str:
    """Return the policy of a page that loads our files alone, and connects to us and `reached`."""
    connected = " ".join(("'self'", *reached))
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        f"connect-src {connected}; img-src 'self'; {_CLOSED}"
    )


def answer_policy(*origins: str) -> str:
    """Return the policy of the answer page, which also forbids making markup from text.

    It speaks to the collector, and to the issuers and relays that contracts name.
    """
    return f"{_page(*origins)}; require-trusted-types-for 'script'; trusted-types 'none'"


DASHBOARD_POLICY = _page()

_EVERY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    # For requests without CORS; the public paths allow any origin through CORS.
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", ", ".join(f"{name}=()" for name in _SENSORS).encode()),
]
SENDER = "rumor.sender"
"""Where a request's address is, for limits alone."""
_POLICY = b"content-security-policy"
_EVERY_DATA = [*_EVERY, (_POLICY, DATA_POLICY.encode())]


def takes_gzip(accept: str) -> bool:
    """Return whether a client takes gzip: named, or as any coding, with a positive weight."""
    for part in accept.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "").rstrip("0") not in ("q=", "q=0.")
    return False


class SecurityHeaders:
    """Adds the headers to every response of an application, and hides who asked.

    A server's access log reads the address from the scope when the answer begins: ours is not
    there, also where the application is mounted in another one and served by plain uvicorn.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its response back with the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        scope[SENDER] = sender(client[0]) if client else ""
        scope["client"] = None

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message["headers"]
                named = any(name == _POLICY for name, _ in own)
                message["headers"] = [*own, *(_EVERY if named else _EVERY_DATA)]
            await send(message)

        await self._app(scope, receive, guarded)
