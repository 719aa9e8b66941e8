"""Analysts' tokens: 256 random bits each, of which only a hash is kept.

A token file has a line for each token: a name, a space and the SHA-256 of the token in
hexadecimal. A token is random, so nothing slower than a plain hash is needed. The file is read
again when it changes: adding a line adds an analyst, deleting one takes effect at once.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rumor.core.checks import checked_slug
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike, append_for_owner, new_file, readable

_PREFIX = "rumor-"


class Tokens:
    """The tokens in a token file, read again when it changes."""

    def __init__(self, path: PathLike) -> None:
        self._path = Path(path)
        self._seen: tuple[int, int] | None = None
        self._hashes: list[bytes] = []
        self._refresh()

    def _refresh(self) -> None:
        with readable("a token file", self._path):
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size)
            if seen != self._seen:
                self._hashes = [digest for _, digest in read_tokens(self._path)]
                self._seen = seen

    def allow(self, token: str) -> bool:
        """Return whether this is one of the tokens; the time it takes does not say how nearly."""
        try:
            self._refresh()
        except InputError:
            return False  # whoever broke or removed the file has taken all tokens back
        offered = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        matches = [hmac.compare_digest(offered, known) for known in self._hashes]
        return any(matches)


def read_tokens(path: Path) -> list[tuple[str, bytes]]:
    """Return the names and hashes in a token file."""
    found = []
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"a token file must be UTF-8 text; {str(path)!r} is not") from None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, digits = line.partition(" ")
        try:
            digest = bytes.fromhex(digits)
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise InputError(
                f"{path}, line {number}: a token file must have a name and 64 hexadecimal digits "
                f"in each line; got {format_value(line)}"
            )
        found.append((name, digest))
    return found


def add_token(path: PathLike, name: str) -> str:
    """Make a token, add its hash to a file that only its owner can read, and return it once."""
    checked_slug({"name": name}, "name", "a token")
    if Path(path).exists():
        read_tokens(Path(path))  # a slip must not spoil some other file
    token = _PREFIX + secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    append_for_owner(path, f"{name} {digest}\n".encode())
    return token


@contextmanager
def first_token(path: PathLike) -> Iterator[Path]:
    """Yield a new token file with one token, and that token in a file of its owner's beside it.

    Gives the path of the latter. Both appear when the block has ended well.
    """
    told = Path(f"{os.fspath(path)}.first")
    try:
        with new_file(path) as hashes, new_file(told) as secret:
            token = add_token(hashes, "first")
            handle = os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{token}\n")
            yield told
    except FileExistsError:
        raise InputError(
            f"a first token needs new files; {os.fspath(path)!r} or {str(told)!r} exists"
        ) from None
