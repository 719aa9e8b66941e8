"""The demonstration: it shows what happened, repeats with a seed, and needs nothing."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rumor.core.errors import InputError
from rumor.demo.crowd import SHARES, run
from rumor.demo.page import page, write_page


def test_the_crowd_is_estimated_and_the_truth_is_its_own() -> None:
    demo = run(100_000, seed=4)
    np.testing.assert_allclose(demo.truth, list(SHARES.values()), atol=0.01)
    assert demo.truth.sum() == pytest.approx(1)
    assert demo.estimate.reports == 100_000
    # Every error within 5 standard errors of the noise.
    assert (np.abs(demo.estimate.unbiased - demo.truth) < 5 * demo.estimate.stderr).all()
    assert demo.covered >= len(SHARES) - 4


def test_epsilon_is_the_logarithm_of_three() -> None:
    demo = run(1000, seed=1)
    assert "by at most a factor of 3 (epsilon 1.099)" in demo.privacy
    assert "at most 75% of the time" in demo.privacy
    assert "probability 50%, every other bit with probability 25%" in demo.coins


def test_the_person_shown_has_something_to_hide_and_a_real_report() -> None:
    for seed in range(5):
        demo = run(1000, seed=seed)
        assert demo.labels[demo.person.answer] not in ("nothing", "no answer")
        assert len(demo.person.bits) == len(SHARES)
        assert set(demo.person.bits) <= {0, 1}
        assert 1 <= demo.person.number <= 1000


def test_a_seed_repeats_everything() -> None:
    first, again, other = run(3000, seed=1), run(3000, seed=1), run(3000, seed=2)
    assert first.text() == again.text()
    assert page(first) == page(again)
    assert first.text() != other.text()
    assert run(3000).text() != run(3000).text()


def test_the_text_shows_everyone_and_the_intervals() -> None:
    text = run(2000, seed=1).text()
    assert text.startswith("2,000 people are asked: Which of these troubles you most?")
    assert text.count("<- the truth") == 1
    for label in SHARES:
        assert len(re.findall(rf"^  {label} ", text, re.MULTILINE)) == 2
    assert all(len(line) <= 100 for line in text.splitlines())


def test_the_page_counts_the_intervals_that_it_prints() -> None:
    """Of many crowds: the number above is that of the rows below it, as far as digits show it."""
    differed = 0
    for seed in range(12):
        demo = run(2000, seed=seed)
        html = page(demo)
        rows = re.findall(
            r"<td>([0-9.]+)%</td><td>[0-9.]+%</td><td>([0-9.]+)% to ([0-9.]+)%</td>", html
        )
        assert len(rows) == len(SHARES)
        # Digits may hide on which side of an end the truth is.
        sure = sum(float(low) < float(true) < float(high) for true, low, high in rows)
        near = sum(float(true) in (float(low), float(high)) for true, low, high in rows)
        (held,) = re.findall(r"<p>([0-9]+) of 11 intervals hold the truth", html)
        assert sure <= int(held) <= sure + near
        differed += int(held) != demo.covered
    # The rows are covered as rows that are ranked, not as ones named in advance.
    assert differed


def test_the_page_is_one_file_without_scripts_or_network(tmp_path: Path) -> None:
    demo = run(2000, seed=1)
    path = write_page(demo, tmp_path / "demo.html")
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert html.count('<i class="whisker">') == html.count('<i class="true">') == len(SHARES)
    assert ".bars li {" in html
    assert "var(--bar)" in html
    assert "<script" not in html
    loads = re.findall(r"(?:src|href|url)\s*[=(]\s*['\"]?(?!#)[^'\">\s]+", html)
    assert loads == []
    for fact in [demo.privacy, demo.coins, demo.collection.digest, "2,000 simulated people"]:
        assert fact in html
    for label in SHARES:
        assert f"<td>{label}</td>" in html


def test_a_page_is_html(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"to an .html file; got 'demo.txt'"):
        write_page(run(1000, seed=1), "demo.txt")


def test_the_coins_are_told_as_they_fell() -> None:
    demo = run(1000, seed=1)
    own = demo.person.bits[demo.person.answer]
    others = sum(demo.person.bits) - own
    assert demo.luck.endswith(f"answer a {own}, and {others} of the 10 others a 1.")
    assert demo.luck in page(demo)
