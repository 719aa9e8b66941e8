"""`rumor statement`: a collection for a data-protection officer, an ethics board, a registry."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from rumor.cli.common import keep_inputs, print_json
from rumor.cli.options import AsJson, CollectionFile, option
from rumor.core.errors import InputError

Html = Annotated[str | None, option("--html FILE", "Write a page that can be printed.")]
Pdf = Annotated[str | None, option("--pdf FILE", "Write a PDF file.")]
Audit = Annotated[
    str | None,
    option("--audit FILE", "Add what `rumor audit --certificate FILE.json` found."),
]
Registry = Annotated[
    str | None, option("--registry FILE", "Write an entry for a public registry (.json).")
]
Languages = Annotated[
    list[str] | None,
    option(
        "--language en|ja|zh",
        "Consent texts in this language; give the option once for each (all; in a PDF: en).",
    ),
]


def statement(
    collection: CollectionFile,
    html: Html = None,
    pdf: Pdf = None,
    registry: Registry = None,
    audit: Audit = None,
    language: Languages = None,
    as_json: AsJson = False,
) -> None:
    """Say on one page what a collection asks, stores and promises.

    For a data-protection officer or an ethics board: what is asked, what is stored and for how
    long, epsilon in words for one answer and for the whole survey, what is not protected, and how
    to check it; then a consent text. Without a file to write, it is printed.

    \b
    Example:
      rumor statement examples/browser.toml
      rumor audit examples/browser.toml --certificate audit.json
      rumor statement examples/browser.toml --audit audit.json --html statement.html
    """
    from rumor.contract.collection import Collection
    from rumor.core.files import write_whole
    from rumor.privacy.statement.registry import registry_entry
    from rumor.privacy.statement.statement import read_audit
    from rumor.privacy.statement.statement import statement as stated

    for path, suffix in ((html, ".html"), (pdf, ".pdf"), (registry, ".json")):
        if path is not None and Path(path).suffix.lower() != suffix:
            raise InputError(f"this file must end in {suffix}; got {path!r}")
    keep_inputs(collection, audit, html=html, pdf=pdf, registry=registry)
    loaded = Collection.load(collection)
    found = None if audit is None else read_audit(audit, loaded)
    made = stated(loaded, audit=found, languages=language)
    if html is not None:
        from rumor.privacy.statement.page import page

        write_whole(html, page(made, _style()).encode("utf-8"))
    if pdf is not None:
        from rumor.privacy.statement import pdf as sheet

        wanted = stated(loaded, audit=found, languages=language or ["en"])
        write_whole(pdf, sheet.pdf(wanted))
    if registry is not None:
        entry = json.dumps(registry_entry(loaded, found), indent=2, ensure_ascii=False)
        write_whole(registry, f"{entry}\n".encode())
    if as_json:
        print_json(asdict(made))
    elif html is None and pdf is None and registry is None:
        print(made.to_text())
    else:
        print("written: " + ", ".join(repr(path) for path in (html, pdf, registry) if path))


def _style() -> str:
    """What all pages have in common."""
    import rumor

    web = Path(rumor.__file__).parent / "collector" / "web"
    return (web / "base.css").read_text(encoding="utf-8")
