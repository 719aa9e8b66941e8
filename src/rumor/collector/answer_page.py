"""The answer page as text: as a collector serves it, and as one file for any other place.

The file holds all that the page may need, and asks the collector for nothing but the contract. Its
bytes are a function of this version alone, so that a SHA-256 says which code randomises. It is
written just as browsers write out a document (HTML, "serialising HTML fragments"): the page finds
its own bytes again in what the browser has read, and shows their hash.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import rumor.collector
from rumor.client.modules import FOLDER as CLIENT
from rumor.client.page_script import whole_script

WEB = Path(rumor.collector.__file__).parent / "web"
WORDS = CLIENT / "view" / "words"
MODULES = {"/assets/": WEB, "/client/": CLIENT}
"""The folders of the page's modules, by their addresses."""


@dataclass(frozen=True)
class Language:
    """A language of the answer page: its tag, its own name, and the page's title and first text."""

    tag: str
    name: str
    title: str
    lead: str


@functools.cache
def languages() -> Mapping[str, Language]:
    """Return the languages of the answer page, English first."""
    found = {}
    for path in sorted(WORDS.glob("*.js"), key=lambda path: (path.stem != "en", path.stem)):
        text = path.read_text(encoding="utf-8")
        said = {
            key: re.search(rf'^  {key}: "([^"<&]+)",$', text, re.MULTILINE)
            for key in (field.name for field in fields(Language))
        }
        found[path.stem] = Language(**{key: str(each and each[1]) for key, each in said.items()})
    return found


def answer_html(stem: str) -> str:
    """Return the page as a collector serves it, with its first text in the language `stem`.

    The page has a link for each language, and loads its texts and its script at once.
    """
    own = languages()[stem]
    preload = f'<link rel="modulepreload" href="/client/view/words/{stem}.js">'
    return _replaced(
        _with_links(),
        {
            '<html lang="en">': f'<html lang="{own.tag}">',
            languages()["en"].title: own.title,
            'id="lead"></p>': f'id="lead">{own.lead}</p>',
            "</head>": f"{preload}\n</head>",
        },
    )


@functools.cache
def answer_file() -> bytes:
    """Return the page as one file, which runs on any origin or from a disk."""
    style = "".join((WEB / name).read_text(encoding="utf-8") for name in ("base.css", "answer.css"))
    script = whole_script("/assets/answer.js", MODULES)
    for text in (style, script):
        early = re.search("</(?:script|style)|<!--", text)
        if early:
            raise ValueError(f"the page's code must not end its own element; it has {early[0]!r}")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_allowed(script)}",
            f"style-src {_allowed(style)}",
            "connect-src https: http://localhost:* http://127.0.0.1:*",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n"
        f'<script type="module">{script}</script>\n</head>'
    )
    footer = '<footer id="footer"></footer>'
    text = re.sub('<link rel="icon".*</head>', lambda _: head, _with_links(), flags=re.DOTALL)
    return _replaced(
        text,
        {
            # A parser drops the white space before <head>, and moves that after </body>.
            '<html lang="en">\n': '<html lang="en">',
            "\n</body>\n</html>\n": "\n</body></html>",
            "<body>": '<body data-file="">',
            'class="progress" hidden>': 'class="progress" hidden="">',
            footer: f'{footer}\n<footer id="file"></footer>',
        },
    ).encode()


def _with_links() -> str:
    """Return the page's markup with a link for each language."""
    links = "".join(
        f'\n<a href="?lang={stem}" hreflang="{stem}" lang="{said.tag}">{said.name}</a>'
        for stem, said in languages().items()
    )
    text = (WEB / "answer.html").read_text(encoding="utf-8")
    return _replaced(text, {"></nav>": f">{links}\n</nav>"})


def _replaced(text: str, changes: Mapping[str, str]) -> str:
    """Return `text` after all `changes`, each of which it must have something for."""
    for old, new in changes.items():
        if old not in text:
            raise ValueError(f"the page's markup must have {old!r}")
        text = text.replace(old, new)
    return text


def _allowed(text: str) -> str:
    """Return the source of a content policy that allows this inline text alone."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
