"""The papers: nothing of a document is left out, nothing differs without a word, results hold."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import re
from pathlib import Path

import pytest

from docs import make_papers
from rumor.cli import main
from rumor.papers import MODULES, paper
from rumor.papers.charts import digest, picture
from rumor.papers.model import (
    Cell,
    ChecklistItem,
    Claim,
    Numbers,
    Paper,
    Parameters,
    Results,
    TrialMean,
    Verdict,
)
from rumor.papers.render import (
    UNRESOLVED,
    blocks,
    counts,
    counts_sentence,
    formula_counts,
    in_short,
)
from rumor.papers.runner import as_text, committed, measure, results, run

REFRESH = "run `make pages`, and look at what changed"
RESULTS = Path(importlib.import_module("rumor.papers").__file__ or "").parent / "results"

# Cells that are run again here: some of each kind that a paper has, none that takes long.
AGAIN = {
    "css2020": (
        "arithmetic",
        "channel",
        "limits/epsilon 1",
        "limits/epsilon 4",
        "normaliser/100000",
        "zipf/Subset Selection/epsilon 4/1000",
        "zipf/Hadamard Response/epsilon 2/10000",
        "geometric/Hadamard Response, two blocks/epsilon 4/1000",
        "geometric/Rappor/epsilon 1/1000",
        "geometric/Proposal/epsilon 4/1000",
        "zipf/Randomized Response/epsilon 4/1000",
        "geometric/Rumor's default/epsilon 4/1000",
    ),
    "privkv-em": (
        "arithmetic",
        "first step",
        "moments/power",
        "closed form/linear/10000 as 1000",
        "identified/0.2/-0.6",
        "shares/gaussian/epsilon 4/100000/published",
        "users/linear/epsilon 2/1000/published",
        "shares/power/epsilon 5/100000/ours",
    ),
    "rappor-decode": ("epsilon/8", "as printed/1", "as meant/2", "ours, one hash/4"),
    "rappor-privacy": (
        "dominance",
        "brute/6 bits, h 3/f .5, p .5, q .75",
        "after/4 bits, h 2/2/f .25, p .35, q .65",
        "curve/h 2, f .5, p .5, q .75",
    ),
    "rappor-primer": ("stages", "example", "variants", "normal/50 bins/1000"),
    "paper-designs": ("crosswise/partial plagiarism", "warner/manual"),
    "minimax": ("bound/epsilon 1", "error/subset/epsilon 2", "error/hashing/epsilon 1"),
}


@pytest.fixture(params=MODULES)
def found(request: pytest.FixtureRequest) -> Paper:
    return paper(request.param)


# --- Checklists -------------------------------------------------------------------------------


def resolves(entry: ChecklistItem, cells: list[str]) -> list[str]:
    """The names of an entry that lead nowhere."""
    lost = []
    for name in entry.code:
        module, _, attribute = name.partition(":")
        if module == "cell":
            if not any(cell.startswith(attribute) for cell in cells):
                lost.append(name)
            continue
        try:
            thing: object = importlib.import_module(module)
            for part in attribute.split("."):
                thing = getattr(thing, part)
        except (ImportError, AttributeError):
            lost.append(name)
    return lost


def test_every_item_of_a_document_has_code_or_an_explanation(found: Paper) -> None:
    cells = [cell.id for cell in found.cells]
    for entry in found.checklist:
        told = entry.code or entry.shown or len(entry.note.split()) >= 3
        assert told, f"{entry.what}: neither code nor command nor note"
        assert resolves(entry, cells) == [], entry.what


def test_the_check_of_checklists_bites() -> None:
    entry = ChecklistItem(
        "x", "y", ("rumor.papers.model:Nothing", "cell:none", "rumor.papers.model:Cell")
    )
    assert resolves(entry, ["some"]) == ["rumor.papers.model:Nothing", "cell:none"]


def test_names_of_cells_are_distinct_and_claims_name_cells(found: Paper) -> None:
    cells = [cell.id for cell in found.cells]
    assert len(set(cells)) == len(cells)
    for claim in found.claims:
        assert claim.cell in cells, claim.name
        assert claim.ours is None or claim.ours[0] in cells, claim.name


# --- The rule ---------------------------------------------------------------------------------


def verdict(published: float, found: TrialMean, trials: int | None, rounding: float = 0) -> Verdict:
    return Verdict(Claim("", "", "", published, "", "", trials, rounding), found, None)


def test_a_number_within_three_standard_errors_is_reproduced() -> None:
    """Spread 2: over 4 published and 16 own trials, the error is 2 sqrt(1/4 + 1/16) = 1.118."""
    found = TrialMean(10.0, 2.0, 16)
    assert verdict(10, found, 4).stderr == pytest.approx(math.sqrt(1.25))
    assert verdict(13.35, found, 4).holds
    assert not verdict(13.36, found, 4).holds
    assert verdict(13.36, found, 4, rounding=0.01).holds


def test_a_number_without_chance_must_agree_to_its_last_digit() -> None:
    assert verdict(0.25, TrialMean(0.2549, 0, 1), None, 0.005).holds
    assert not verdict(0.25, TrialMean(0.2551, 0, 1), None, 0.005).holds
    assert verdict(764, TrialMean(764, 0, 1), None).holds
    assert not verdict(764, TrialMean(765, 0, 1), None).holds


# --- The results that come with the project -----------------------------------------------------


def test_committed_results_are_those_of_the_cells(found: Paper) -> None:
    """Names, parameters, trials and seeds: a cell that changed must be run again."""
    kept, made = committed(found.name)
    assert list(kept) == [cell.id for cell in found.cells]
    assert made["command"] == f"rumor papers run {found.name}"
    assert set(made) >= {"version", "commit"}
    for cell in found.cells:
        parameters, trials = cell.asked(trials=None, quick=False)
        assert kept[cell.id]["parameters"] == parameters, cell.id
        assert (kept[cell.id]["trials"], kept[cell.id]["seed"]) == (trials, cell.seed), cell.id


# Seconds each; their neighbours are run again every time.
_SLOW_CELLS = ("geometric/Proposal/epsilon 4/1000", "shares/power/epsilon 5/100000/ours")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        pytest.param(n, c, marks=[pytest.mark.slow] if c in _SLOW_CELLS else [])
        for n, cells in AGAIN.items()
        for c in cells
    ],
)
def test_cells_run_again_give_the_committed_numbers(name: str, cell: str) -> None:
    kept = committed(name)[0][cell]
    again = next(c for c in paper(name).cells if c.id == cell)
    numbers = measure(again.experiment, kept["parameters"], kept["trials"], kept["seed"])
    assert list(numbers) == list(kept["numbers"])
    for quantity, values in kept["numbers"].items():
        # Nine digits: what processors add up in another order differs beyond them.
        assert numbers[quantity] == pytest.approx(values, rel=1e-9, abs=1e-15), quantity


def test_every_number_that_differs_has_an_explanation(found: Paper) -> None:
    verdicts = found.verdicts(results(*committed(found.name)))
    assert len(verdicts) == len(found.claims)
    silent = [v.claim.name for v in verdicts if not v.holds and not v.claim.explanation]
    assert silent == []
    number = counts(verdicts)
    assert number["without explanation"] == 0
    assert number["published"] == (number["as_printed"] + number["re_read"] + number["unexplained"])
    for claim in (v.claim for v in verdicts if v.claim.explanation):
        assert len(claim.explanation.removeprefix(UNRESOLVED).split()) >= 6, claim.name


def test_committed_results_and_pictures_are_small() -> None:
    files = [*RESULTS.iterdir(), *make_papers.PICTURES.iterdir()]
    assert sum(file.stat().st_size for file in files) < 1_000_000


# --- The runner -------------------------------------------------------------------------------


def doubled(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Leaves a mark for every call."""
    if "marks" in parameters:
        with (Path(parameters["marks"]) / "calls").open("a") as file:
            file.write("x")
    return {"value": [parameters["x"] * 2.0 + t for t in range(trials)], "seed": [float(seed % 97)]}


def calls(folder: Path) -> int:
    file = folder / "calls"
    return len(file.read_text()) if file.exists() else 0


def test_finished_cells_are_not_run_again(tmp_path: Path) -> None:
    cells = [Cell(f"c/{x}", doubled, {"x": x, "marks": str(tmp_path)}, 4, 2) for x in range(3)]
    first = run(cells, tmp_path, jobs=1)
    assert calls(tmp_path) == 3
    assert first["c/1"]["numbers"]["value"] == [3.5, pytest.approx(math.sqrt(5 / 3)), 4]
    assert run(cells, tmp_path, jobs=1) == first
    assert calls(tmp_path) == 3
    (tmp_path / "cells" / "c_2.json").write_text('{"id": "c/2", "half')  # an interrupted write
    assert run(cells, tmp_path, jobs=1) == first
    assert calls(tmp_path) == 4
    quick = run(cells, tmp_path, quick=True, jobs=1)  # other trials: other numbers
    assert calls(tmp_path) == 7
    assert quick["c/0"]["numbers"]["value"][2] == 2


def broken(parameters: Parameters, trials: int, seed: int) -> Numbers:
    raise ArithmeticError(parameters["x"])


def test_what_is_finished_is_kept_when_a_cell_fails(tmp_path: Path) -> None:
    cells = [
        Cell("c/0", doubled, {"x": 0, "marks": str(tmp_path)}, 2, 2),
        Cell("bad", broken, {"x": 1}),
    ]
    with pytest.raises(ArithmeticError):
        run(cells, tmp_path, jobs=1)
    mended = [cells[0], Cell("bad", doubled, {"x": 1})]  # other code: run again
    assert run(mended, tmp_path, jobs=1)["bad"]["numbers"]["value"] == [2, 0, 1]
    assert calls(tmp_path) == 1


def test_progress_tells_what_is_done_and_left(tmp_path: Path) -> None:
    cells = [Cell(f"c/{x}", doubled, {"x": x}, 2, 2) for x in range(3)]
    run(cells[:1], tmp_path, jobs=1)
    told: list[tuple[int, int, float | None]] = []
    run(cells, tmp_path, jobs=1, on_progress=lambda *state: told.append(state))
    assert [state[:2] for state in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[0][2] is None
    assert all(state[2] is not None and state[2] >= 0 for state in told[1:])
    assert told[-1][2] == 0


def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    cells = [c for c in paper("rappor-privacy").cells if c.id.startswith(("stars", "curve"))]
    assert run(cells, tmp_path / "two", jobs=2) == run(cells, tmp_path / "one", jobs=1)


def test_results_as_text_come_back(tmp_path: Path) -> None:
    import json

    kept = run([Cell("c", doubled, {"x": 1}, 3, 2)], tmp_path, jobs=1)
    back = json.loads(as_text(kept, {"version": "1", "commit": "c", "command": "x"}))
    assert back["cells"][0]["numbers"] == kept["c"]["numbers"]
    assert "version" not in back["cells"][0]


# --- What a run says ----------------------------------------------------------------------------


def few(name: str, explanation: str = "") -> Verdict:
    """A number far off, of three trials."""
    return Verdict(
        Claim(name, "", "", 9, "", "", 10, explanation=explanation), TrialMean(1, 1, 3), None
    )


def test_few_trials_are_told_apart_from_no_explanation() -> None:
    verdicts = [few("a"), few("b"), few("c", "A slip of the print."), few("d", f"{UNRESOLVED}why?")]
    number = counts(verdicts, {"a"})
    assert (number["few trials"], number["without explanation"]) == (1, 1)
    assert (number["re_read"], number["unexplained"]) == (1, 1)
    assert number["published"] == sum(number.values()) - number["published"]
    assert (
        "1 differ in this run of few trials and are reproduced by the full one"
        in counts_sentence(number)
    )
    assert counts(verdicts)["without explanation"] == 2


def test_all_papers_end_on_a_plain_sentence() -> None:
    """What a newcomer reads after `make papers`."""
    number = counts([few("a"), few("c", "A slip of the print.")], {"a"})
    assert in_short([number, number]) == (
        "In all: of 4 published numbers, 0 are reproduced as printed, 2 after a stated re-reading, "
        "and 0 are unexplained; 2 differ in this run of few trials and are reproduced by the full "
        "one that comes with Rumor."
    )


def test_a_number_counts_as_printed_only_by_the_documents_own_labels() -> None:
    """A number that fits another label than its own is re-read, and a formula is no number."""
    fits, off = TrialMean(9, 0, 1), TrialMean(5, 0, 1)
    claim = Claim("a", "", "", 9, "", "")
    formula = Claim("b", "", "", 9, "", "", formula=True)
    verdicts = [
        Verdict(claim, fits, None),
        Verdict(claim, fits, None, off),
        Verdict(claim, fits, None, fits),
        Verdict(formula, off, None),
    ]
    number = counts(verdicts)
    assert (number["published"], number["as_printed"], number["re_read"]) == (3, 2, 1)
    assert formula_counts(verdicts) == (1, 0)


def test_the_published_numbers_are_268_and_formulas_are_none_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The tables of document 004 fit 37 of 90 numbers by their printed header."""
    verdicts = {name: paper(name).verdicts(results(*committed(name))) for name in MODULES}
    assert sum(counts(one)["published"] for one in verdicts.values()) == 268
    assert formula_counts(verdicts["rappor-privacy"])[0] == 32
    tables = [v for v in verdicts["css2020"] if v.claim.part.startswith("Table")]
    assert (len(tables), counts(tables)["as_printed"]) == (90, 37)
    assert main(["papers", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["papers"]
    assert sum(one["published"] for one in told) == 268
    assert all(
        one["published"] == one["as_printed"] + one["re_read"] + one["unexplained"] for one in told
    )


def test_what_the_page_says_of_means_by_em_is_so() -> None:
    """Smallest of three at .1 and from 1 on, level at .5; worse up to 10,000 people, then best."""
    found = results(*committed("privkv-em"))

    def means(cell: str) -> list[float]:
        return [found.mean(cell, f"{row} m") for row in ("EM", "PrivKV", "PrivKVM3")]

    for data in ("gaussian", "power", "linear"):
        for epsilon in (0.1, 0.5, 1, 2, 3, 4, 5):
            em, privkv, rounds = means(f"shares/{data}/epsilon {epsilon:g}/100000/published")
            if epsilon == 0.5:
                assert abs(em - privkv) < 0.01 * privkv
                assert em < rounds
            else:
                assert em < min(privkv, rounds), (data, epsilon)
        for people in (1_000, 5_000, 10_000, 30_000, 50_000, 75_000, 100_000, 500_000):
            em, privkv, rounds = means(f"users/{data}/epsilon 2/{people}/published")
            if people <= 10_000:
                assert privkv < em < rounds, (data, people)
            else:
                assert em < min(privkv, rounds), (data, people)


def test_columns_of_a_matrix_keep_their_leading_zeros(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "show", "css2020", "figure figure-2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["x"] for row in rows} == {f"{number:03b}" for number in range(8)}


def test_a_run_of_few_trials_is_read_beside_the_full_one() -> None:
    """A quick run that is off where the full one is not: the page says so."""
    found = paper("css2020")
    full = results(*committed("css2020"))
    cell = "zipf/Rappor/epsilon 4/1000"
    off = {name: TrialMean(10 * m.mean, m.spread / 10, 3) for name, m in full.numbers[cell].items()}
    quick = Results({**full.numbers, cell: off}, full.made)
    page = {block.name: block for block in blocks(found, quick)}
    rows = {row[0]: row[-1] for row in page["explained"].rows}
    assert rows["Table 1, Rappor, epsilon 4, 1,000 people"].startswith("Few trials: the full run")
    assert "1 differ in this run of few trials" in page["summary"].text[0]


# --- The pages --------------------------------------------------------------------------------


def test_pages_and_pictures_show_the_committed_results_and_all_are_used() -> None:
    files = make_papers.files()
    for path, text in files.items():
        assert path.exists(), f"{path}: {REFRESH}"
        if path.suffix == ".svg":  # letters are drawn differently on other machines
            assert path.read_text(encoding="utf-8").endswith(text[-76:]), f"{path}: {REFRESH}"
        else:
            assert path.read_text(encoding="utf-8") == text, f"{path}: {REFRESH}"
    pages = {page.stem for page in make_papers.FOLDER.glob("*.md")}
    assert pages == {*MODULES, "index", "terms"}
    wanted = {path.name for path in files if path.suffix == ".svg"}
    assert {path.name for path in make_papers.PICTURES.iterdir()} == wanted


def test_the_page_of_terms_names_what_there_is() -> None:
    """Every part of a paper, cell, name of `rumor` and option of a call on the page exists."""
    text = (make_papers.FOLDER / "terms.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 60
    for row in rows:
        codes = [code.replace("\\|", "|") for code in re.findall(r"`([^`]+)`", row)]
        shown = [re.match(r"rumor papers show ([\w-]+) '(.+)'", code) for code in codes]
        for name in (match[1] for match in shown if match):
            parts = {block.name for block in make_papers.loaded(name)[2].values()}
            named = [match[2] for match in shown if match]
            named += [code.strip("'") for code in codes if code.startswith("'")]
            assert {f"claims {part}" if part.startswith("Table") else part for part in named} <= (
                parts
            ), row
        for code in codes:
            if match := re.match(r"rumor papers cell ([\w-]+) '?([^']+)'?$", code):
                assert any(cell.id.startswith(match[2]) for cell in paper(match[1]).cells), code
            elif match := re.match(r"(rumor(?:\.\w+)+)(?:\((.*)\))?$", code):
                place, _, last = match[1].rpartition(".")
                found = getattr(_reached(place), last)
                named_ = re.findall(r"(\w+)=", match[2] or "")
                known = inspect.signature(found).parameters if named_ else {}
                free = {"method", "k", "h", "m"}  # passed on as **options
                assert set(named_) <= {*known, *free}, code


def _reached(dotted: str) -> object:
    """What a dotted name leads to: modules, then attributes."""
    first, *rest = dotted.split(".")
    found: object = importlib.import_module(first)
    for place, name in enumerate(rest):
        if not hasattr(found, name):
            importlib.import_module(".".join([first, *rest[: place + 1]]))
        found = getattr(found, name)
    return found


def test_a_page_counts_what_is_reproduced(found: Paper) -> None:
    page = (make_papers.FOLDER / f"{found.name}.md").read_text(encoding="utf-8")
    number = counts(found.verdicts(results(*committed(found.name))))
    if number["published"]:
        assert counts_sentence(number) in page.split("summary -->")[1].split("<!--")[0]


def test_every_claim_stands_on_its_page_or_is_named_with_its_command(found: Paper) -> None:
    page = (make_papers.FOLDER / f"{found.name}.md").read_text(encoding="utf-8")
    named = re.findall(rf"`(?:rumor papers show {found.name} )?[\"']?([^`\"']+)[\"']?`", page)
    for part in {claim.part for claim in found.claims}:
        assert f"<!-- {found.name}: claims {part} -->" in page or part in named, part
    failed = [v for v in found.verdicts(results(*committed(found.name))) if not v.holds]
    assert (f"<!-- {found.name}: explained -->" in page) == bool(failed)
    for verdict in failed:
        assert verdict.claim.explanation.replace("*", "\\*") in page, verdict.claim.name


def test_a_picture_carries_the_digest_of_what_it_shows() -> None:
    figure = make_papers.loaded("rappor-primer")[2]["figure example"].figure
    assert figure is not None
    svg = picture(figure)
    assert svg.endswith(f"<!-- {digest(figure)} -->\n")
    assert 'role="img"' in svg
