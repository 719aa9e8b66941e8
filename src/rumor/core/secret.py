"""A person's secret: 256 bits in a file that only its owner can read, made once.

Permanent answers and the cohort follow from it, so losing it means new permanent answers (and a
new loss), and showing it undoes the permanent noise. The file is the line
"rumor secret 1" and a line of 64 hexadecimal digits.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from rumor.core.errors import InputError
from rumor.core.files import sync_folder

_HEADER = "rumor secret 1"
_BYTES = 32


def open_secret(path: Path) -> tuple[bytes, bool]:
    """Return the secret in the file at `path`, and whether it was made just now.

    Two processes that start at once agree: only one of them can make the file.
    """
    made = False
    if not path.exists():
        made = _publish(path, secrets.token_bytes(_BYTES), replace=False)
    return read_secret(path), made


def replace_secret(path: Path) -> bytes:
    """Write a new secret in place of the old one, and return it."""
    secret = secrets.token_bytes(_BYTES)
    write_secret(path, secret)
    return secret


def write_secret(path: Path, secret: bytes) -> None:
    """Write `secret` to the file at `path`, in place of one that is there."""
    _publish(path, secret, replace=True)


def read_secret(path: Path) -> bytes:
    """Return the secret in the file at `path`, or refuse a file that cannot be trusted."""
    try:
        status = path.stat()
        if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
            raise InputError(
                f"a secret file must be readable by its owner only (mode 600); "
                f"{str(path)!r} has mode {stat.S_IMODE(status.st_mode):o}"
            )
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(
            f"a secret file must be readable text; {str(path)!r} is not ({problem})"
        ) from None
    header, _, rest = text.partition("\n")
    if header != _HEADER:
        if header.startswith("rumor secret "):
            raise InputError(
                f"a secret file must be of version 1; {str(path)!r} says {header[13:40]!r}"
            )
        raise InputError(f"a secret file must begin with {_HEADER!r}; {str(path)!r} does not")
    digits = rest.removesuffix("\n")
    if len(digits) != 2 * _BYTES or not all(c in "0123456789abcdef" for c in digits):
        raise InputError(
            f"a secret file must hold {2 * _BYTES} hexadecimal digits; "
            f"{str(path)!r} is damaged (it has {len(digits)} characters there)"
        )
    return bytes.fromhex(digits)


def _publish(path: Path, secret: bytes, *, replace: bool) -> bool:
    """Write a file aside, sync it and move it into place; False if another was there first."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    handle = os.open(aside, flags, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{_HEADER}\n{secret.hex()}\n")
            file.flush()
            os.fsync(file.fileno())
        if replace:
            aside.replace(path)
        else:
            try:
                path.hardlink_to(aside)
            except FileExistsError:
                return False
        sync_folder(path.parent)
        return True
    finally:
        aside.unlink(missing_ok=True)
