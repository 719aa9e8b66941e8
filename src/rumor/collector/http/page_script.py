"""One script for a page: all of its modules in one file, made when it is first asked for.

A browser learns what a module imports only after it has read that module, and asks for each file
by itself: where a request takes long, dozens of them take many times as long. Here each module is
a function that returns its exports, called when another module first needs them, so that what a
visit does not use is not run. Modules of texts, which a language chooses, stay files of their own.

Lines keep their numbers within a module: comments become empty lines. The modules themselves are
served too, and read better.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*$", re.M | re.S)
_IMPORT = re.compile(r'^import (?:\* as (\w+)|\{([^}]*)\}) from "([^"]+)";$', re.M)
_FORWARD = re.compile(r'^export \{([^}]*)\} from "([^"]+)";$', re.M)
_EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.M)
_LATER = re.compile(r'\bimport\("([^"]+)"\)')
_LEFT = re.compile(r"^(?:import|export)\b.*", re.M)

_HEAD = """\
const $modules = {}, $made = {};
const $use = (name) => ($made[name] ??= $modules[name]());
const $load = async (name) => $use(name);
"""


@dataclass(frozen=True)
class PageScript:
    """A page's script: its `text`, and the line in it before the first of each module."""

    text: str
    before: Mapping[str, int]


def page_script(entry: str, folders: Mapping[str, Path]) -> PageScript:
    """Return the module at the address `entry` and all that it imports, at once or later.

    `folders` are the folders of files that are served, by the address that begins theirs.
    """
    files = {
        f"{base}{path.relative_to(folder).as_posix()}": path
        for base, folder in folders.items()
        for path in folder.rglob("*.js")
    }
    lines = _HEAD.splitlines()
    before: dict[str, int] = {}
    wanted = [entry]
    while wanted:
        name = wanted.pop(0)
        if name in before:
            continue
        body, needs = _as_function(name, files[name].read_text(encoding="utf-8"))
        lines.append(f'$modules["{name}"] = () => {{')
        before[name] = len(lines)
        lines += [*body, "};"]
        wanted += needs
    return PageScript("\n".join([*lines, f'$use("{entry}");', ""]), before)


def _as_function(name: str, text: str) -> tuple[list[str], list[str]]:
    """Return the lines of the module `name` as the body of a function, and the modules it needs."""
    needs: list[str] = []
    exported: dict[str, str] = {}

    def address(specifier: str) -> str:
        needs.append(posixpath.normpath(posixpath.join(posixpath.dirname(name), specifier)))
        return needs[-1]

    def imported(found: re.Match[str]) -> str:
        whole, names, specifier = found.groups()
        local = whole or f"{{{names.replace(' as ', ': ')}}}"
        return f'const {local} = $use("{address(specifier)}");'

    def forwarded(found: re.Match[str]) -> str:
        module = address(found[2])
        for each in re.findall(r"\w+", found[1]):
            exported[each] = f'{each}: $use("{module}").{each}'
        return "\n" * found[0].count("\n")

    def declared(found: re.Match[str]) -> str:
        exported[found[2]] = found[2]
        return f"{found[1]} {found[2]}"

    rules: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
        (_COMMENT, lambda found: "\n" * found[0].count("\n")),
        (_IMPORT, imported),
        (_FORWARD, forwarded),
        (_EXPORT, declared),
        (_LATER, lambda found: f'$load("{address(found[1])}")'),
    ]
    for pattern, rule in rules:
        text = pattern.sub(rule, text)
    left = _LEFT.search(text)
    if left:
        raise ValueError(f"{name} must import and export as other modules do; got {left[0]!r}")
    return [*text.splitlines(), f"return {{ {', '.join(exported.values())} }};"], needs
