"""How invitations are handed out: a line each in a file, and perhaps a page to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rumor.cli.options import opt
from rumor.core.errors import InputError

if TYPE_CHECKING:
    from rumor.contract.collection import Collection


@dataclass(frozen=True)
class InvitationPage:
    """A page to print and cut, with a code for telephones on each invitation."""

    page: str | None = opt("--print FILE", "Also write a page to print (.html), with QR codes.")
    address: str | None = opt(
        "--answer-url URL", "For --print: where people answer, such as https://.../answer."
    )

    def check(self, out: str) -> None:
        """Refuse files that exist, and a page without the address that it leads to."""
        for file in filter(None, (out, self.page)):
            if Path(file).exists():
                raise InputError(f"invitations must go to a new file; {file!r} exists")
        if (self.page is None) != (self.address is None):
            raise InputError("--print and --answer-url go together; got one of them")
        if self.address is not None:
            from rumor.collector.printing import invitation_links

            invitation_links(self.address, [])

    def write(self, out: str, contract: Collection, codes: Sequence[str]) -> None:
        """Write the invitations for their owner alone: each of them admits a report."""
        from rumor.core.files import write_whole

        if self.page is not None and self.address is not None:
            from rumor.collector.printing import printed_invitations

            page = printed_invitations(contract.name, contract.contact, self.address, codes)
            write_whole(self.page, page.encode(), mode=0o600)
        write_whole(out, "".join(f"{code}\n" for code in codes).encode(), mode=0o600)
