"""`rumor statement`: a collection for a data-protection officer, an ethics board, a registry."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rumor.cli.common import keep_inputs, print_json
from rumor.cli.options import AsJson, CollectionFile, opt
from rumor.core.errors import InputError

if TYPE_CHECKING:
    from rumor.contract.collection import Collection
    from rumor.privacy.statement.statement import Statement


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
        "Language of the consent texts or the assessment; repeatable (default: all consent texts; "
        "for an assessment: en).",
    )
    assessment: bool = opt(
        "--assessment",
        "Write the data-protection impact assessment instead, as Markdown, --html or --pdf.",
        default=False,
    )
    deployment: str | None = opt(
        "--deployment FILE",
        "What the operator declares for the assessment (.toml): purpose, recipients and more.",
    )

    def check(self) -> None:
        """Refuse contents that the document does not have."""
        if self.assessment and self.audit is not None:
            raise InputError("an audit is added to a statement; got --audit with --assessment")
        if self.deployment is not None and not self.assessment:
            raise InputError("a deployment is declared for an --assessment; got --deployment alone")


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
    to check it; then a consent text. Without a file to write, it is printed. With --assessment, a
    data-protection impact assessment: purposes, data, recipients, retention, rights, risks with
    their measures, and what remains.

    \b
    Example:
      rumor statement examples/browser.toml
      rumor audit examples/browser.toml --certificate audit.json
      rumor statement examples/browser.toml --audit audit.json --html statement.html
      rumor statement dice.toml --sheet sheet.html --language ja
      rumor statement survey.toml --assessment --deployment operator.toml --pdf assessment.pdf
    """
    from rumor.contract.collection import Collection
    from rumor.core.files import write_whole
    from rumor.privacy.statement.registry import registry_entry
    from rumor.privacy.statement.statement import read_audit
    from rumor.privacy.statement.statement import statement as stated

    beside.check()
    written.check(collection, beside.audit, beside.deployment)
    loaded = Collection.load(collection)
    on_paper = None
    if written.sheet is not None:
        from rumor.privacy.statement.page import sheet_page
        from rumor.privacy.statement.sheet import sheets

        on_paper = sheet_page(sheets(loaded, beside.language), _style())
    found = None if beside.audit is None else read_audit(beside.audit, loaded)
    if beside.assessment:
        document = _assessed(loaded, beside)
    else:
        document = _stated(stated(loaded, audit=found, languages=beside.language))
    if written.html is not None:
        write_whole(written.html, document.html().encode("utf-8"))
    if written.pdf is not None:
        write_whole(written.pdf, document.pdf())
    if written.registry is not None:
        entry = json.dumps(registry_entry(loaded, found), indent=2, ensure_ascii=False)
        write_whole(written.registry, f"{entry}\n".encode())
    if written.sheet is not None and on_paper is not None:
        write_whole(written.sheet, on_paper.encode("utf-8"))
    if as_json:
        print_json(document.data)
    elif not written.named():
        print(document.text())
    else:
        print("written: " + ", ".join(map(repr, written.named())))


@dataclass(frozen=True)
class _Document:
    """A statement or an assessment, in its forms."""

    data: dict[str, object]
    text: Callable[[], str]
    html: Callable[[], str]
    pdf: Callable[[], bytes]


def _stated(made: Statement) -> _Document:
    from rumor.privacy.statement.page import page
    from rumor.privacy.statement.pdf import pdf

    return _Document(asdict(made), made.to_text, lambda: page(made, _style()), lambda: pdf(made))


def _assessed(loaded: Collection, beside: StatementContents) -> _Document:
    from rumor.privacy.statement.assessment import assessments, to_markdown
    from rumor.privacy.statement.deployment import Deployment
    from rumor.privacy.statement.page import assessment_page
    from rumor.privacy.statement.pdf import pdf

    declared = None if beside.deployment is None else Deployment.load(beside.deployment)
    made = assessments(loaded, declared, beside.language)
    return _Document(
        {"assessments": [asdict(one) for one in made]},
        lambda: "\n\n".join(map(to_markdown, made)),
        lambda: assessment_page(made, _style()),
        lambda: pdf(*made),
    )


def _style() -> str:
    """Return the style sheet that all pages share."""
    import rumor

    web = Path(rumor.__file__).parent / "collector" / "web"
    return (web / "base.css").read_text(encoding="utf-8")
