"""Names of the literature: each means what the pages say, wherever it can be typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.mechanisms.aliases import ALIASES, OTHER_ALGORITHMS
from rumor.mechanisms.paper import DESIGNS
from rumor.mechanisms.registry import ENTRIES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mechanisms.md"
KINDS = {entry.name: entry.kind for entry in ENTRIES}
# What a mechanism and a question of each kind need besides a name and an epsilon.
NEEDS: dict[str, dict[str, Any]] = {
    "choice": {"domain": 20},
    "number": {"low": 0, "high": 10},
    "ordered": {"low": 0, "high": 20},
    "set": {"domain": 8},
}
OPTIONS: dict[str, dict[str, Any]] = {"select": {"cap": 3, "size": 4}}
CHANCES = {"truth": "3/4", "ask": "2/3", "yes": "1/4", "no": "1/8"}
EACH = pytest.mark.parametrize("alias", ALIASES)


def documented() -> dict[str, tuple[str, dict[str, object]]]:
    section = PAGE.read_text("utf-8").split("## Names from the literature")[1].split("\n## ")[0]
    found = {}
    for row in re.findall(r"^\| (`.*`) \| `(.*)` \|(.*)\|$", section, re.MULTILINE):
        fixed = re.findall(r'`([a-z]+) = "?([a-z0-9-]+)"?`', row[2])
        options = {key: int(text) if text.isdigit() else text for key, text in fixed}
        found.update(dict.fromkeys(re.findall(r"`([^`]+)`", row[0]), (row[1], options)))
    return found


def needed(alias: str) -> dict[str, Any]:
    """What the mechanism of an alias needs beside what its kind does; designs have no epsilon."""
    meant = ALIASES[alias]
    if meant.mechanism != "paper":
        return dict(OPTIONS.get(meant.mechanism, {}))
    chances = {name: CHANCES[name] for name in DESIGNS[alias].options}
    return {"domain": 2, "epsilon": None, **chances}


def question(name: str, mechanism: str, **options: object) -> str:
    """A collection file with one question that names a mechanism."""
    kind = KINDS[ALIASES[name].mechanism]
    further = needed(name)
    table = {**NEEDS[kind], "epsilon": 1.0}
    domain = {key: further.pop(key, value) for key, value in table.items()}
    asked = {**options, **further}
    said = "".join(f", {key} = {value!r}".replace("'", '"') for key, value in asked.items())
    needs = "\n".join(f"{key} = {value}" for key, value in domain.items() if value is not None)
    return f"""
name = "L"
series = "l"
contact = "a@b.example"
[[questions]]
id = "q"
kind = "{kind}"
text = "?"
mechanism = {{ name = "{mechanism}"{said} }}
{needs}
"""


def test_the_page_lists_every_alias() -> None:
    assert documented() == {
        name: (alias.mechanism, dict(alias.options)) for name, alias in ALIASES.items()
    }


@EACH
def test_the_factory_makes_the_mechanism_that_an_alias_means(alias: str) -> None:
    meant = ALIASES[alias]
    needs = {**NEEDS[KINDS[meant.mechanism]], "epsilon": 1.0, **needed(alias)}
    made = rumor.mechanism(alias, **needs)
    assert made == rumor.mechanism(meant.mechanism, **{**needs, **meant.options})
    assert made.describe()["name"] == meant.mechanism
    for key, fixed in meant.options.items():
        others = {"least": 2, "buckets": 3, "design": "another"}
        other = others.get(key, "optimized" if alias == "sue" else "symmetric")
        with pytest.raises(InputError, match=rf"^mechanism '{alias}' is .* with {key} .*; got "):
            rumor.mechanism(alias, **{**needs, key: other})
        assert rumor.mechanism(alias, **{**needs, key: fixed}) == made


@EACH
def test_a_collection_file_with_an_alias_is_the_contract_with_our_name(alias: str) -> None:
    meant = ALIASES[alias]
    typed = rumor.Collection.from_toml(question(alias, alias))
    ours = rumor.Collection.from_toml(question(alias, meant.mechanism, **meant.options))
    assert typed.digest == ours.digest
    assert typed.question("q").mechanism.name == meant.mechanism


def test_the_command_line_takes_an_alias_and_shows_our_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "survey.toml"
    file.write_text(question("olh", "olh"), "utf-8")
    assert main(["show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "local-hashing" in shown
    assert "olh" not in shown
    file.write_text(question("olh", "ohl"), "utf-8")
    assert main(["show", str(file)]) == 2
    assert "got 'ohl' (did you mean 'olh'?)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("OUE", "oue"), ("k-subst", "k-subset"), ("squarewave", "square-wave"), ("unray", "unary")],
)
def test_a_near_miss_is_refused_with_the_nearest_name(typed: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"got '{typed}' .did you mean '{meant}'"):
        rumor.mechanism(typed, domain=4, epsilon=1.0)


def test_an_alias_of_another_kind_is_refused_by_name_and_kind() -> None:
    wrong = question("olh", "pm")
    with pytest.raises(InputError, match="got 'pm', which is 'piecewise', for questions of kind"):
        rumor.Collection.from_toml(wrong)


@pytest.mark.parametrize("name", OTHER_ALGORITHMS)
def test_an_algorithm_that_is_missing_is_refused_with_the_nearest(name: str) -> None:
    other = OTHER_ALGORITHMS[name]
    assert other.nearest in KINDS
    sentence = f"'{name}' .{other.title}. is an algorithm that Rumor does not have; the nearest"
    with pytest.raises(InputError, match=f"^{sentence} is the mechanism '{other.nearest}'"):
        rumor.mechanism(name, domain=4, epsilon=1.0)
    with pytest.raises(InputError, match=sentence):
        rumor.Collection.from_toml(question("olh", name))
