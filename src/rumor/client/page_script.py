"""The scripts of a page: its modules in two files, made when they are first asked for.

A browser learns what a module imports only after it has read that module, and asks for each file
by itself: where a request takes long, dozens of them take many times as long. Here each module is
a function that returns its exports, called when another module first needs them. The first file
has what the page begins with, for the questions that it asks; the second has whatever a module may
import later, and is asked for when something is not in the first. Modules of texts, which a
language chooses, are data (`export default`) and stay files of their own.

A page that is one file has one script with everything, texts too.

Lines keep their numbers within a module: comments become empty lines. The modules themselves are
served too, and read better.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*$", re.M | re.S)
_IMPORT = re.compile(r'^import (?:\* as (\w+)|\{([^}]*)\}) from "([^"]+)";$', re.M)
_FORWARD = re.compile(r'^export \{([^}]*)\} from "([^"]+)";$', re.M)
_EXPORT = re.compile(r"^export ((?:async )?function|const|class) ([\w$]+)", re.M)
_LATER = re.compile(r'\bimport\("([^"]+)"\)')
_DATA = re.compile(r"^export default \{", re.M)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.M)

_BEGIN = """\
const $modules = {}, $made = {};
const $use = (name) => ($made[name] ??= $modules[name]());
"""
_HEAD = f"""\
{_BEGIN}const $load = async (name) => {{
  if (!$modules[name]) (await import("./LATER")).add($modules, $use, $load);
  return $use(name);
}};
"""
_WHOLE = f"{_BEGIN}const $load = async (name) => $use(name);\n"


def page_scripts(
    entry: str, begun: Collection[str], later: str, folders: Mapping[str, Path]
) -> tuple[str, str]:
    """Return a script of the module `entry` and those of `begun`, and one of what is loaded later.

    Modules are named by their addresses. `later` is the name of the second script, beside the
    first. `folders` are the folders of files
    that are served, by the address that begins theirs.
    """
    files = _files(folders)
    modules: dict[str, _Module] = {}

    @functools.cache
    def is_data(name: str) -> bool:
        return bool(_DATA.search(files[name].read_text(encoding="utf-8")))

    def reach(wanted: list[str]) -> dict[str, _Module]:
        """Return the modules that are new, by name: those of `wanted`, and what they import."""
        found = {}
        while wanted:
            name = wanted.pop(0)
            if name not in modules:
                text = files[name].read_text(encoding="utf-8")
                found[name] = modules[name] = _read(name, text, is_data, posixpath.dirname(entry))
                wanted += modules[name].imports
        return found

    first = reach([entry])
    rest: dict[str, _Module] = {}
    while more := reach([name for each in modules.values() for name in each.later]):
        rest |= more
    modules.clear()
    first |= reach([entry, *(name for name in begun if name in files)])
    head = _HEAD.replace("LATER", later).splitlines()
    adding = "export function add($modules, $use, $load) {"
    return _script(head, first, f'$use("{entry}");'), _script([adding], rest, "}")


def whole_script(entry: str, folders: Mapping[str, Path]) -> str:
    """Return one script of the module `entry` and all that it imports, at once or later.

    Modules and `folders` are named as in `page_scripts`.
    """
    files = _files(folders)
    modules: dict[str, _Module] = {}
    wanted = [entry]
    while wanted:
        name = wanted.pop(0)
        if name not in modules:
            text = _DATA.sub("export const $data = {", files[name].read_text(encoding="utf-8"))
            modules[name] = _read(name, text, lambda name: False, "")
            wanted += modules[name].imports + modules[name].later
    return _script(_WHOLE.splitlines(), modules, f'$use("{entry}");')


def _files(folders: Mapping[str, Path]) -> dict[str, Path]:
    """Return the modules of `folders` by their addresses."""
    return {
        f"{base}{path.relative_to(folder).as_posix()}": path
        for base, folder in folders.items()
        for path in folder.rglob("*.js")
    }


def _script(lines: list[str], modules: Mapping[str, _Module], end: str) -> str:
    """Return a script of `modules` between its first `lines` and its `end`."""
    for name, module in modules.items():
        lines = [*lines, f'$modules["{name}"] = () => {{', *module.body, "};"]
    return "\n".join([*lines, end, ""])


@dataclass(frozen=True)
class _Module:
    """A module as the lines of a function, with the modules that it imports at once and later."""

    body: list[str]
    imports: list[str]
    later: list[str]


def _read(name: str, text: str, is_data: Callable[[str], bool], folder: str) -> _Module:
    """Return the module `name` from its `text`.

    Modules for which `is_data` are loaded as they are, from where they lie beside the script's
    `folder`.
    """
    imports: list[str] = []
    later: list[str] = []
    exported: dict[str, str] = {}

    def place(specifier: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), specifier))

    def address(specifier: str) -> str:
        imports.append(place(specifier))
        return imports[-1]

    def loaded(found: re.Match[str]) -> str:
        module = place(found[1])
        if is_data(module):
            return f'import("./{posixpath.relpath(module, folder)}")'
        later.append(module)
        return f'$load("{module}")'

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
        exported[found[2]] = "default: $data" if found[2] == "$data" else found[2]
        return f"{found[1]} {found[2]}"

    rules: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
        (_COMMENT, lambda found: "\n" * found[0].count("\n")),
        (_IMPORT, imported),
        (_FORWARD, forwarded),
        (_EXPORT, declared),
        (_LATER, loaded),
    ]
    for pattern, rule in rules:
        text = pattern.sub(rule, text)
    left = _LEFT.search(text)
    if left:
        raise ValueError(f"{name} must import and export as other modules do; got {left[0]!r}")
    body = [*text.splitlines(), f"return {{ {', '.join(exported.values())} }};"]
    return _Module(body, imports, later)
