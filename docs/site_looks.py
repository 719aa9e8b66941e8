"""The documentation looks like the pages: their colours, type and mark, from their own files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

WEB = Path(__file__).resolve().parent.parent / "src" / "rumor" / "collector" / "web"
_SHIM = re.compile(r'<script src="[^"]*iframe-worker[^"]*"></script>')


def on_files(files: Any, config: Any) -> Any:
    """Add what the pages have to what the documentation has (a hook of MkDocs)."""
    from mkdocs.structure.files import File

    # What everything is styled by stands before the first rule for elements.
    tokens = (WEB / "base.css").read_text("utf-8").partition("\n*, ::before")[0]
    files.append(File.generated(config, "tokens.css", content=tokens))
    files.append(File.generated(config, "icon.svg", content=(WEB / "icon.svg").read_text("utf-8")))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The theme would fetch what lets files be searched from elsewhere: here it is worker.js."""
    return _SHIM.sub(f'<script src="{"../" * page.url.count("/")}worker.js"></script>', output)


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The same for the page of addresses that are not there."""
    return _SHIM.sub("", output)
