"""Every verb as a command over files, with the options that choose rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rumor.collector.store.base import open_store
from rumor.kinds import KINDS
from tests.joins.look import Look
from tests.joins.oracles import FORMULA, column_names, period_names, weights_for
from tests.joins.people import ASKED, WINDOW
from tests.joins.running import Refused, run
from tests.joins.sources import Source, Sources

Arguments = list[object]


class NoInvalidReport(Exception):  # noqa: N818 (a state, not a mistake)
    """Every row of bytes is a report of this mechanism."""


class Commands:
    """The commands over one world's files, in a folder for what they write."""

    def __init__(self, sources: Sources, folder: Path, engine: str) -> None:
        self._sources, self._folder = sources, folder
        self._engine: Arguments = [] if engine == "local" else ["--engine", engine]
        self.left_out = 0
        """How many rows were repeated or invalid in what the last command read."""

    def found(self, look: Look, method: str = "auto") -> Any:
        """What a verb prints of some rows; else `Refused`."""
        self.left_out = 0
        options = [*self._options(look, method), *self._engine]
        run_verb = getattr(self, f"_{look.verb}", None)
        if run_verb is None:
            raise KeyError(f"the verb {look.verb!r} has no command: write Commands._{look.verb}")
        return run_verb(look, options)

    def _options(self, look: Look, method: str) -> Arguments:
        options: Arguments = []
        column = self._sources.whole.column
        match look.form:
            case "groups":
                options += ["--by", column]
            case "weights" if look.verb == "combine":
                options += ["--weights", self._weights("source", list(self._sources.pair))]
            case "weights":
                options += ["--weights", self._weights(column, column_names(column))]
            case "periods":
                options += [word for name in period_names() for word in ("--period", name)]
            case "methods" if look.verb == "estimate":
                options += ["--by", column, "--method", method]
            case "methods":
                options += ["--method", method]
        if look.span == "window":
            options += ["--from", WINDOW[0], "--to", WINDOW[1]]
        flags = {"repeated": ["--distinct-ids"], "invalid": ["--skip-invalid"]}
        return options + flags.get(look.trouble, [])

    def _weights(self, column: str, names: Sequence[str]) -> Path:
        lines = [f"{name},{weight}" for name, weight in weights_for(names).items()]
        path = self._folder / "weights.csv"
        path.write_text("\n".join([f"{column},people", *lines, ""]))
        return path

    def _path(self, source: Source, look: Look) -> Path:
        """The reports of a source, as these rows need them."""
        if look.trouble == "repeated":
            path, count = source.with_repeated()
        elif look.trouble == "invalid":
            spoilt = source.with_invalid()
            if spoilt is None:
                raise NoInvalidReport
            path, count = spoilt
        else:
            return source.path
        self.left_out += count
        return path

    @property
    def _words(self) -> Arguments:
        """Words to look for, where answers are words."""
        words = self._kind.example().words
        if words is None:
            return []
        path = self._folder / "words.txt"
        path.write_text("\n".join(words))
        return ["--candidates", path]

    @property
    def _kind(self) -> Any:
        return KINDS[self._sources.whole.contract.question(ASKED).kind]

    @property
    def _asked(self) -> Arguments:
        return ["-q", ASKED]

    # The verbs

    def _estimate(self, look: Look, options: Arguments) -> Any:
        whole = self._sources.whole
        path = self._path(whole, look)
        return run("estimate", whole.contract_path, path, *self._asked, *self._words, *options)

    def _compare(self, look: Look, options: Arguments) -> Any:
        one, two, whole = self._sources.first, self._sources.second, self._sources.whole
        read: Arguments = [self._path(one, look), self._path(two, look)]
        if look.form in ("periods", "groups"):
            self.left_out = 0
            read = [self._path(whole, look)]
        return run("compare", one.contract_path, *read, *self._asked, *self._words, *options)

    def _combine(self, look: Look, options: Arguments) -> Any:
        read: Arguments = []
        for source in self._sources.pair.values():
            read += [source.contract_path, self._path(source, look)]
        return run("combine", *read, *self._asked, *self._words, *options)

    def _trend(self, look: Look, options: Arguments) -> Any:
        whole = self._sources.whole
        path = self._path(whole, look)
        return run("trend", whole.contract_path, path, *self._asked, *self._words, *options)

    def _regress(self, look: Look, options: Arguments) -> Any:
        whole = self._sources.whole
        path = self._path(whole, look)
        return run("regress", whole.contract_path, path, FORMULA, *self._asked, *options)

    def _merge(self, look: Look, options: Arguments) -> Any:
        """Summaries of two files, saved, merged and estimated from."""
        sources = self._sources
        if look.form == "methods":  # of a merge there is no method
            return run("merge", self._folder / "a", self._folder / "b", *options)
        parts = []
        for source in (sources.first, sources.second):
            part = self._folder / f"{source.name}.rumor"
            read = [source.contract_path, self._path(source, look), *self._asked, *self._words]
            run("estimate", *read, *options, "--save-summary", part)
            parts.append(part)
        merged = self._folder / "merged.rumor"
        told = run("merge", merged, *parts, "--force")
        found = run("estimate", sources.whole.contract_path, merged, *self._asked, *self._words)
        assert told["reports"] == found["reports"]
        return found

    def _export(self, look: Look, options: Arguments) -> Any:
        """Into a new store and out of it again; then the export is estimated from."""
        whole, folder = self._sources.whole, self._folder / "export"
        folder.mkdir(exist_ok=True)
        number = sum(1 for _ in folder.iterdir())
        store = f"sqlite:///{folder / f'{number}.db'}"
        if whole.is_export:
            run("import", whole.contract_path.parent, "--store", store)
        else:
            run("import", whole.path, "--collection", whole.contract_path, "--store", store)
        opened = open_store(store)
        entry = opened.find(whole.contract.digest)
        summary = whole.crowd.summary(whole.contract)
        assert opened.summary(entry, ASKED).to_bytes() == summary.to_bytes()
        opened.close()
        out = folder / f"{number}-out"
        run("export", out, "--store", store, *options)
        contract, reports = out / "contract.json", out / f"question={ASKED}"
        return run("estimate", contract, reports, *self._asked, *self._words)

    def _simulate(self, look: Look, options: Arguments) -> Any:
        table = self._folder / "answers.csv"
        table.write_text(self._kind.example().table)
        few = ["--people", 200, "--seed", 1]
        contract = self._sources.whole.contract_path
        return run("simulate", contract, table, *self._asked, *self._words, *few, *options)

    def _plan(self, look: Look, options: Arguments) -> Any:
        size = [x for key, value in self._kind.example().plan.items() for x in (f"--{key}", value)]
        few = ["--users", 10_000, "--epsilon", 1]
        return run("plan", "--kind", self._kind.name, *size, *few, *options)


__all__ = ["Commands", "NoInvalidReport", "Refused"]
