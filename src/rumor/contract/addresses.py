"""Checked addresses of issuers and relays, plain enough for a page's content security policy."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import unicodedata
import urllib.parse

from rumor.core.errors import InputError, format_value

# An origin and a plain path, which headers and content security policies hold unescaped.
_URL = re.compile(
    r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*", re.ASCII
)
_MOST = 500
_USUAL_PORTS = {"http": 80, "https": 443}


def checked_url(given: object, whose: str) -> str:
    """Return `given` if it is a plain address of `whose` server, an issuer or a relay."""
    if not isinstance(given, str) or len(given) > _MOST or not _URL.fullmatch(given):
        raise InputError(
            f"the url of {whose} must be http(s)://HOST[:PORT][/PATH] in plain letters, the host "
            f"in small ones, without a slash at its end; got {format_value(given)}"
        )
    return given


def origin_of(url: str) -> str:
    """Return the scheme, host and port of `url` in the one form that browsers give them.

    What is no address over HTTP comes back as it is, up to its third slash.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        usual = _USUAL_PORTS[parts.scheme]
        host, port = _host(parts.netloc), parts.port
    except (KeyError, ValueError):
        return "/".join(url.split("/")[:3])
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, usual) else "")


def _host(netloc: str) -> str:
    """Return the host of `netloc`, without user and port, as the URL standard writes it."""
    host = netloc.rpartition("@")[2]
    if host.startswith("["):
        return f"[{_ipv6(host[1:].partition(']')[0])}]"
    host = _normalize_host(urllib.parse.unquote(host.partition(":")[0], errors="strict"))
    if not host:
        raise ValueError("an address needs a host")
    host = ".".join(_ascii(label) for label in host.split("."))
    # "127.1" and "0x7f000001" are numbers to browsers, and 127.0.0.1.
    with contextlib.suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host.removesuffix(".")))
    return host


def _normalize_host(host: str) -> str:
    """Return `host` in small letters and plain forms, nearly as UTS 46 maps it.

    Letter by letter: as a word, a capital sigma at its end would become another one. The codec
    "idna" would write ss for a sharp s, as browsers no longer do.
    """
    small = "".join(letter.lower() for letter in unicodedata.normalize("NFKC", host))
    return unicodedata.normalize("NFKC", small).replace("\u3002", ".").replace("\u00ad", "")


def _ascii(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


def _ipv6(host: str) -> str:
    address = ipaddress.IPv6Address(host)
    if address.ipv4_mapped is None:
        return address.compressed
    high, low = divmod(int(address.ipv4_mapped), 1 << 16)
    return f"::ffff:{high:x}:{low:x}"
