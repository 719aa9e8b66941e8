"""Invitations to hand out on paper: a link and a code that telephones read, one for each person."""

from __future__ import annotations

import html
import urllib.parse
from collections.abc import Sequence

from rumor.core.errors import InputError, format_value
from rumor.core.extras import import_optional

_STYLE = """
  :root { color-scheme: light; }
  body { font: 11pt/1.45 system-ui, sans-serif; margin: 12mm; color: #1d1f23; }
  main { display: grid; grid-template-columns: repeat(2, 1fr); gap: 6mm; }
  section { border: 0.3mm dashed #8a8f98; border-radius: 3mm; padding: 5mm; break-inside: avoid; }
  h2 { font-size: 12pt; margin: 0 0 2mm; overflow-wrap: anywhere; }
  p { margin: 1mm 0; } svg { width: 38mm; height: 38mm; }
  code { font-size: 8pt; overflow-wrap: anywhere; }
  .small { font-size: 8.5pt; color: #5c6168; }
"""


def invitation_links(address: str, codes: Sequence[str]) -> list[str]:
    """Return the answer page's address with each invitation, behind a # that is never sent."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.fragment:
        raise InputError(
            f"the address of the page must be http(s)://HOST/answer; got {format_value(address)}"
        )
    return [f"{address}#invitation={urllib.parse.quote(code)}" for code in codes]


def printed_invitations(name: str, contact: str, address: str, codes: Sequence[str]) -> str:
    """Return a page to print and cut: for each respondent a link, as text and as a code."""
    segno = import_optional("segno", "a page of codes for telephones")
    cards = []
    for link in invitation_links(address, codes):
        code = segno.make(link, error="m").svg_inline(scale=3, border=2, omitsize=True)
        cards.append(
            f"<section><h2>{html.escape(name)}</h2>{code}"
            f"<p>Read the code with your telephone, or type:</p>"
            f"<p><code>{html.escape(link)}</code></p>"
            f'<p class="small">For one person, once. It shows that you were invited, not who you '
            f"are. Questions? Ask {html.escape(contact)}.</p></section>"
        )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Invitations: {html.escape(name)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(cards)}</main></body></html>\n"
    )
