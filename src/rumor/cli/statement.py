"""`rumor statement`: a collection for a data-protection officer, an ethics board, a registry."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rumor.cli.common import keep_inputs, print_json
from rumor.cli.options import AsJson, CollectionFile, opt
from rumor.core.errors import InputError


@dataclass(frozen=True)
class StatementFiles:
    """Options for the written files."""

    html: str | None = opt("--html FILE", "Write a page to print.")
    pdf: str | None = opt("--pdf FILE", "Write a PDF file.")
    registry: str | None = opt("--registry FILE", "Write an entry for a public registry (.json).")
    sheet: str | None = opt(
        "--sheet FILE",
        "Write the interviewer's sheet of each question that is answered with dice or cards, a "
        "page to print in each --language (default: en).",
    )

    def check(self, *inputs: str | None) -> None:
        """Refuse files of another kind, and those that would replace what is read."""
        suffixes = {"html": ".html", "pdf": ".pdf", "registry": ".json", "sheet": ".html"}
        for name, suffix in suffixes.items():
            path = getattr(self, name)
            if path is not None and Path(path).suffix.lower() != suffix:
                raise InputError(f"this file must end in {suffix}; got {path!r}")
        keep_inputs(*inputs, **vars(self))

    def named(self) -> list[str]:
        """Return the files that were asked for."""
        return [path for path in vars(self).values() if path is not None]


@dataclass(frozen=True)
class StatementContents:
    """Options for further contents of a statement."""

    audit: str | None = opt(
        "--audit FILE", "Add the result of `rumor audit --certificate FILE.json`."
    )
    language: list[str] | None = opt(
        "--language en|ja|zh",
        "Language of the consent texts; repeatable (default: all; in a PDF: en).",
    )


def statement(
    collection: CollectionFile,
    *,
    written: StatementFiles,
    beside: StatementContents,
    as_json: AsJson = False,
) -> None:
    """Write one page on what a collection asks, stores and promises.

    For a data-protection officer or an ethics board: what is asked, what is stored and for how
    long, epsilon in words for one answer and for the whole survey, what is not protected, and how
    to check it; then a consent text. Without a file to write, it is printed.

    \b
    Example:
      rumor statement examples/browser.toml
      rumor audit examples/browser.toml --certificate audit.json
      rumor statement examples/browser.toml --audit audit.json --html statement.html
      rumor statement dice.toml --sheet sheet.html --language ja
    """
    from rumor.contract.collection import Collection
    from rumor.core.files import write_whole
    from rumor.privacy.statement.registry import registry_entry
    from rumor.privacy.statement.statement import read_audit
    from rumor.privacy.statement.statement import statement as stated

    written.check(collection, beside.audit)
    loaded = Collection.load(collection)
    on_paper = None
    if written.sheet is not None:
        from rumor.privacy.statement.page import sheet_page
        from rumor.privacy.statement.sheet import sheets

        on_paper = sheet_page(sheets(loaded, beside.language), _style())
    found = None if beside.audit is None else read_audit(beside.audit, loaded)
    made = stated(loaded, audit=found, languages=beside.language)
    if written.html is not None:
        from rumor.privacy.statement.page import page

        write_whole(written.html, page(made, _style()).encode("utf-8"))
    if written.pdf is not None:
        from rumor.privacy.statement import pdf as sheet

        wanted = stated(loaded, audit=found, languages=beside.language or ["en"])
        write_whole(written.pdf, sheet.pdf(wanted))
    if written.registry is not None:
        entry = json.dumps(registry_entry(loaded, found), indent=2, ensure_ascii=False)
        write_whole(written.registry, f"{entry}\n".encode())
    if written.sheet is not None and on_paper is not None:
        write_whole(written.sheet, on_paper.encode("utf-8"))
    if as_json:
        print_json(asdict(made))
    elif not written.named():
        print(made.to_text())
    else:
        print("written: " + ", ".join(map(repr, written.named())))


def _style() -> str:
    """Return the style sheet that all pages share."""
    import rumor

    web = Path(rumor.__file__).parent / "collector" / "web"
    return (web / "base.css").read_text(encoding="utf-8")
