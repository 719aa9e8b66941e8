"""Requests to a collector over HTTP, with nothing but the standard library.

Requests carry no cookies, follow no redirects and have a constant user agent. Only the answer of
a real collector counts as an acknowledgement; anything else at the other end, such as the login
page of a hotel, counts as being offline.
"""

from __future__ import annotations

import base64
import email.message
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from rumor.client.deadline import handlers
from rumor.core.errors import InputError, format_value
from rumor.core.plain_text import visible

_PROBLEM = "urn:rumor:problem:"
# Problems that pass by themselves.
_PASSING = ("rate", "unavailable", "timeout", "failed")
_MAX_ANSWER = 16 << 20
_LONGEST_SENTENCE = 1_000
_PAGE = "/answer"
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


class Unreachable(Exception):  # noqa: N818 (a state, not a mistake)
    """A state in which the collector cannot be reached; try again after `retry_after` seconds."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Refused(Exception):  # noqa: N818 (an answer, not a mistake)
    """A refusal by the collector, with a type for programs and a sentence for people."""

    def __init__(self, type: str, detail: str, indices: tuple[int, ...] = ()) -> None:
        super().__init__(detail)
        self.type, self.indices = type, indices


@dataclass(frozen=True)
class ServedContract:
    """The answer of GET /v1/collection."""

    digest: str
    open: bool
    contract: object


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A handler that refuses redirects: a report goes where it was meant to go, or nowhere."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> None:
        return None


class Transport:
    """A connection to one collector; `timeout` bounds each whole request, in seconds."""

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        parts = _parts(url)
        path = parts.path.rstrip("/")
        page = path.endswith(_PAGE)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or (parts.query and not page)
        ):
            # The part after a # may be an invitation, which is a secret.
            given = format_value(str(url).partition("#")[0])
            raise InputError(f"a collector's URL must be http(s)://HOST[:PORT]; got {given}")
        # People are given the address of the answer page.
        path = path.removesuffix(_PAGE).rstrip("/")
        self.url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        self._timeout = timeout
        used: list[urllib.request.BaseHandler] = [_NoRedirects(), *handlers()]
        if parts.hostname in _THIS_MACHINE:
            used.append(urllib.request.ProxyHandler({}))  # no proxy knows the way back here
        self._opener = urllib.request.build_opener(*used)
        self._opener.addheaders = [("User-Agent", "rumor")]

    def collection(self) -> ServedContract:
        """Return the contract that the collector serves, not yet trusted."""
        try:
            answer = self._call(urllib.request.Request(f"{self.url}/v1/collection"))
        except Refused as refusal:
            raise InputError(
                f"a collector must serve its contract; {self.url} does not ({refusal})"
            ) from None
        digest, is_open = answer.get("digest"), answer.get("open")
        if not isinstance(digest, str) or not isinstance(is_open, bool):
            raise Unreachable(f"{self.url} does not answer as a collector does")
        return ServedContract(digest, is_open, answer.get("contract"))

    def send(
        self,
        digest: str,
        question: str,
        records: bytes,
        count: int,
        token: bytes | None = None,
        stratum: int | None = None,
    ) -> int:
        """Send records of id and report; return how many were new to the collector.

        `stratum` is the groups of all of them, where the contract has groups. Returns when all are
        durable there, and raises otherwise.
        """
        more = {} if token is None else {"Rumor-Token": token.hex()}
        more |= {} if stratum is None else {"Rumor-Group": str(stratum)}
        request = self._post_request("reports", digest, question, records, more)
        return self._counts(request, "accepted", "duplicates", count)

    def _post_request(
        self, what: str, digest: str, question: str, body: bytes, more: Mapping[str, str]
    ) -> urllib.request.Request:
        """Return a request with reports or envelopes of one question."""
        kind = "envelopes" if what == "batches" else what
        headers = {
            "Content-Type": f"application/vnd.rumor.{kind}",
            "Rumor-Collection": digest,
            "Rumor-Question": question,
        }
        return urllib.request.Request(
            f"{self.url}/v1/{what}", data=body, headers={**headers, **more}
        )

    def pass_on(self, digest: str, question: str, sealed: bytes, turn: int | None = None) -> None:
        """Send one envelope of a `turn` to a relay; return when it is durable there."""
        named = "" if turn is None else f"/{turn}"
        request = urllib.request.Request(
            f"{self.url}/v1/relay/{digest}/{question}{named}",
            data=sealed,
            headers={"Content-Type": "application/octet-stream"},
        )
        if self._call(request, 202) != {"taken": 1}:
            raise Unreachable(f"{self.url} does not answer as a relay does")

    def hand_over(
        self,
        digest: str,
        question: str,
        envelopes: bytes,
        count: int,
        token: str,
        turn: int | None = None,
    ) -> None:
        """Send a relay's envelopes to a gateway; return when the valid ones are durable."""
        named = {} if turn is None else {"Rumor-Turn": str(turn)}
        more = {"Authorization": f"Bearer {token}", **named}
        request = self._post_request("batches", digest, question, envelopes, more)
        if self._call(request) != {"taken": count}:
            raise Unreachable(f"{self.url} does not answer as a gateway does")

    def withdraw(
        self, digest: str, question: str, keys: Sequence[bytes], token: bytes | None = None
    ) -> int:
        """Withdraw reports by their keys; return how many the collector had.

        None is left there then. `token` is that of the one report, which may not have arrived yet.
        """
        shown = {} if token is None else {"Rumor-Token": token.hex()}
        body = {"question": question, "keys": [_text(key) for key in keys]}
        request = urllib.request.Request(
            f"{self.url}/v1/withdrawals",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Rumor-Collection": digest, **shown},
        )
        return self._counts(request, "withdrawn", "absent", len(keys))

    def tokens(self, credential: bytes, tokens: Sequence[tuple[bytes, int, bytes]]) -> list[bytes]:
        """Return the issuer's signatures of tokens (key, number, blinded message), in order."""
        wanted = [
            {"key": _text(key), "number": number, "blinded": _text(blinded)}
            for key, number, blinded in tokens
        ]
        request = urllib.request.Request(
            f"{self.url}/v1/tokens",
            data=json.dumps({"credential": _text(credential), "tokens": wanted}).encode(),
            headers={"Content-Type": "application/json"},
        )
        found = self._call(request).get("signatures")
        try:
            answers = [base64.b64decode(each, validate=True) for each in found or []]
        except (TypeError, ValueError):
            answers = []
        if len(answers) != len(tokens):
            raise Unreachable(f"{self.url} does not answer as an issuer does")
        return answers

    def _counts(self, request: urllib.request.Request, first: str, second: str, count: int) -> int:
        """Return the first of two numbers in the answer, which must add up to `count`."""
        answer = self._call(request)
        one, other = answer.get(first), answer.get(second)
        if not isinstance(one, int) or not isinstance(other, int) or one + other != count:
            raise Unreachable(f"{self.url} does not answer as a collector does")
        return one

    def _call(self, request: urllib.request.Request, good: int = 200) -> dict[str, Any]:
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                if response.status != good:
                    raise Unreachable(f"{self.url} answered with status {response.status}")
                return self._object(response.read(_MAX_ANSWER))
        except urllib.error.HTTPError as problem:
            with problem:
                raise self._refusal(problem) from None
        except (OSError, http.client.HTTPException) as problem:
            reason = getattr(problem, "reason", problem)
            raise Unreachable(f"{self.url} cannot be reached ({_sentence(reason)})") from None

    def _object(self, body: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise Unreachable(f"{self.url} does not answer as a collector does")
        return answer

    def _refusal(self, problem: urllib.error.HTTPError) -> Exception:
        try:
            answer = self._object(problem.read(_MAX_ANSWER))
        except (Unreachable, OSError, http.client.HTTPException):
            answer = {}
        kind, detail = answer.get("type"), answer.get("detail")
        wait = _seconds(problem.headers)
        if not isinstance(kind, str) or not kind.startswith(_PROBLEM):
            return Unreachable(f"{self.url} answered with status {problem.code}", wait)
        kind = kind.removeprefix(_PROBLEM)
        if kind in _PASSING:
            return Unreachable(_sentence(detail), wait)
        refused = answer.get("refused")
        indices = refused if isinstance(refused, list) else []
        return Refused(kind, _sentence(detail), tuple(i for i in indices if isinstance(i, int)))


def _sentence(said: object) -> str:
    """Return what a server says as one bounded line that no terminal obeys."""
    return visible(" ".join(str(said)[:_LONGEST_SENTENCE].split()))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _parts(url: str) -> urllib.parse.SplitResult:
    try:
        return urllib.parse.urlsplit(url)
    except ValueError:  # a bracket that does not close, say
        return urllib.parse.SplitResult("", "", "", "", "")


def _seconds(headers: email.message.Message | None) -> float:
    text = "" if headers is None else headers.get("Retry-After", "")
    return float(text) if text.isdigit() and len(text) < 6 else 0.0
