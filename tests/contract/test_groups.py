"""Groups of a contract: digested only where they are said, numbered, read from tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.analysis.compare.method import compare_reports
from rumor.analysis.estimate import analyse
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.contract.groups import Groups
from rumor.contract.privatize import privatize_table
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.privacy.promise import collection_promise
from rumor.privacy.statement.statement import consent, statement, words
from tests.flow import TOML

LISTS = 'groups = {os = ["x", "other"], country = ["DE", "FR", "other"]}\n'
GROUPED = TOML.replace('contact = "privacy@example.org"\n', f'contact = "c"\n{LISTS}')
PLAIN = TOML.replace("privacy@example.org", "c")
ODD = ["__proto__", "a,b", "constructor", "é", "x=y", "other"]


def grouped() -> Groups:
    groups = Collection.from_toml(GROUPED).groups
    assert groups is not None
    return groups


def test_a_contract_without_groups_says_nothing_of_them() -> None:
    plain, with_groups = Collection.from_toml(PLAIN), Collection.from_toml(GROUPED)
    assert "groups" not in plain.contract()
    assert plain.digest != with_groups.digest
    said = with_groups.contract()
    del said["groups"]
    assert Collection.from_contract(said) == plain
    assert Collection.from_json(with_groups.canonical()) == with_groups
    with pytest.raises(InputError, match="leaves groups None out"):
        Collection.from_contract({**plain.contract(), "groups": None})


def test_the_order_of_columns_says_nothing_and_that_of_groups_does() -> None:
    swapped = GROUPED.replace(
        LISTS, 'groups.country = ["DE", "FR", "other"]\ngroups.os = ["x", "other"]\n'
    )
    turned = GROUPED.replace('"DE", "FR"', '"FR", "DE"')
    digests = [Collection.from_toml(text).digest for text in (GROUPED, swapped, turned)]
    assert digests[0] == digests[1] != digests[2]


def test_strata_are_numbered_with_the_last_column_fastest() -> None:
    groups = grouped()
    assert (groups.names, groups.strata) == (("country", "os"), 6)
    assert [groups.of_stratum(number) for number in range(6)] == [
        {"country": country, "os": os} for country in ("DE", "FR", "other") for os in ("x", "other")
    ]
    assert [groups.stratum(groups.of_stratum(number)) for number in range(6)] == list(range(6))
    assert groups.strata_in({"os": "x"}) == [0, 2, 4]
    assert groups.strata_in({"country": "FR"}) == [2, 3]
    assert groups.strata_in({"country": "FR", "os": "other"}) == [3]
    assert groups.strata_in({}) == list(range(6))


@pytest.mark.parametrize(
    ("given", "stratum"),
    [
        ({}, 5),
        ({"country": "IT", "os": None}, 5),
        ({"country": "de", "os": "x"}, 4),
        ({"country": "FR"}, 3),
        ({"country": 7, "os": "x"}, 4),
    ],
)
def test_whatever_a_list_lacks_is_other(given: dict[str, object], stratum: int) -> None:
    assert grouped().stratum(given) == stratum


def test_odd_groups_are_groups() -> None:
    wish = {**json.loads(json.dumps({"name": "A", "series": "a", "contact": "c"}))}
    question = {"id": "q", "kind": "choice", "labels": ["a", "b"], "epsilon": 1.0}
    lists = {"a": [*ODD[:3], "e\u0301", *ODD[4:]]}
    groups = Collection.resolve({**wish, "questions": [question], "groups": lists}).groups
    assert groups is not None
    assert dict(groups.columns)["a"] == tuple(ODD)
    assert [groups.stratum({"a": label}) for label in ODD] == list(range(6))
    assert groups.stratum({"a": "e\u0301"}) == 3


def test_coarser_groups_say_less() -> None:
    def of(**lists: list[str]) -> Groups:
        return Groups(tuple((name, tuple(labels)) for name, labels in sorted(lists.items())))

    wide = of(a=["x", "y", "other"], b=["z", "other"])
    assert wide.is_coarser(wide)
    assert of(a=["other", "x"]).is_coarser(wide)
    assert not of(a=["x", "w", "other"]).is_coarser(wide)
    assert not of(c=["x", "other"]).is_coarser(wide)
    assert not wide.is_coarser(None)


def table(path: Path, rows: int = 3_000) -> tuple[str, dict[str, list[Any]]]:
    """Write a table of people in DE, FR and elsewhere, of which DE says "blank" alone."""
    draw = np.random.default_rng(4)
    lands = [["DE", "FR", "IT", None][number] for number in draw.integers(0, 4, rows)]
    answers = ["blank" if land == "DE" else "news" for land in lands]
    columns = {
        "homepage": answers,
        "country": lands,
        "System": draw.choice(["x", "w"], rows).tolist(),
    }
    pq.write_table(pa.table(columns), path / "people.parquet")
    return str(path / "people.parquet"), columns


def write(folder: Path, **options: Any) -> Path:
    collection = Collection.from_toml(GROUPED)
    source, _ = table(folder)
    privatize_table(
        collection,
        collection.question("homepage"),
        AnswerTable.open(source),
        folder / "r.parquet",
        random=Seeded(3),
        **{"groups": {"os": "System"}, **options},
    )
    return folder / "r.parquet"


def test_reports_of_a_table_carry_their_groups(tmp_path: Path) -> None:
    _, columns = table(tmp_path)
    stored = pq.read_table(write(tmp_path))
    assert stored.schema.names == ["id", "report", "day", "country", "os", "contract", "question"]
    for name, source, known in (("country", "country", ("DE", "FR")), ("os", "System", ("x",))):
        wanted = [cell if cell in known else "other" for cell in columns[source]]
        found = stored.column(name).to_pylist()
        assert {each: found.count(each) for each in set(found)} == {
            each: wanted.count(each) for each in set(wanted)
        }
    collection = Collection.from_toml(GROUPED)
    found_by = analyse(collection, tmp_path / "r.parquet", by="country", question="homepage")
    assert set(found_by.estimates) == {"DE", "FR", "other"}
    assert found_by.estimates["DE"].unbiased[0] > 0.8  # standard error below 0.04
    assert found_by.estimates["FR"].unbiased[0] < 0.2
    compared = compare_reports(
        collection, tmp_path / "r.parquet", question="homepage", by="os", different_people=True
    )
    assert sorted(compared.groups) == ["other", "x"]


def test_kept_columns_stand_beside_groups(tmp_path: Path) -> None:
    stored = pq.read_table(write(tmp_path, keep=["System", "System"]))
    assert stored.schema.names[3:6] == ["country", "os", "System"]
    assert set(stored.column("System").to_pylist()) == {"x", "w"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"keep": ["country"]}, "in the reports anyway, as its list has it; got 'country'"),
        ({"groups": {"os": "homepage"}}, "must hold no answers; got 'homepage'"),
        (
            {"groups": {"OS": "System"}},
            r"must be those of the collection \(country, os\); got 'OS'",
        ),
        ({"groups": {}}, "must have a column 'os' in its header"),
    ],
)
def test_wrong_columns_of_groups_are_refused(
    options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=sentence):
        write(tmp_path, **options)
    assert not (tmp_path / "r.parquet").exists()


def test_a_file_without_the_groups_of_its_contract_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    whole = pq.read_table(path)
    collection = Collection.from_toml(GROUPED)
    pq.write_table(whole.drop_columns(["os"]), path)
    with pytest.raises(InputError, match="the column os must hold the collection's groups"):
        analyse(collection, path, question="homepage")


def test_the_command_reads_groups_from_other_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(GROUPED)
    table(tmp_path)
    base = ["privatize", "c.toml", "people.parquet", "-o", "r.parquet", "-q", "homepage"]
    assert main([*base, "-c", "os=System", "-c", "homepage=homepage"]) == 0
    assert main([*base, "-c", "os=System", "-c", "os=System", "--replace"]) == 2
    assert "must be said once for groups; got two for 'os'" in capsys.readouterr().err
    assert main(["estimate", "c.toml", "r.parquet", "--by", "country", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["by"] == "country"
    assert main(["show", "c.toml", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["groups"]
    assert shown == {"country": ["DE", "FR", "other"], "os": ["x", "other"]}
    assert main(["show", "c.toml"]) == 0
    assert "Sent in the clear with every report, without noise" in capsys.readouterr().out


def test_the_statement_says_what_is_sent_in_the_clear() -> None:
    plain, with_groups = (
        statement(Collection.from_toml(text)).to_text() for text in (PLAIN, GROUPED)
    )
    for said in (
        "Sent in the clear with every report, without noise: country (DE, FR, other); os (x,",
        "The groups of each person (country, os): they are sent in the clear",
        "These groups are sent in the clear with every report",
    ):
        assert said in " ".join(with_groups.split())
        assert said not in " ".join(plain.split())
    collection = Collection.from_toml(GROUPED)
    for language in words():
        text = " ".join(consent(collection, collection_promise(collection), language).lines)
        assert "country (DE, FR, other); os (x, other)" in text
