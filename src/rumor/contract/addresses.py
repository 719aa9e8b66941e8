"""Where the others are that a contract names: an address that a page's policy may hold as it is."""

from __future__ import annotations

import re

from rumor.core.errors import InputError, shown

# An origin and a plain path: nothing that a header or a policy of a page could take otherwise.
_URL = re.compile(
    r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*", re.ASCII
)
_MOST = 500


def checked_url(given: object, whose: str) -> str:
    """The plain address of an issuer or a relay."""
    if not isinstance(given, str) or len(given) > _MOST or not _URL.fullmatch(given):
        raise InputError(
            f"the url of {whose} must be http(s)://HOST[:PORT][/PATH] in plain letters, the host "
            f"in small ones, without a slash at its end; got {shown(given)}"
        )
    return given


def origin_of(url: str) -> str:
    """Scheme, host and port: what a page names to be allowed to speak to it."""
    return "/".join(url.split("/")[:3])
