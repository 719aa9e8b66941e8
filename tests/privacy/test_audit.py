"""The audit passes what is right and fails what is broken, in each of its ways."""

from __future__ import annotations

import datetime
import json
import math
import platform
import sys
from fractions import Fraction
from pathlib import Path
from typing import Self

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.core.exact import WORD
from rumor.core.randomness import Draws, Keyed, RandomSource
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.mechanisms import FrequencyOracle, Mechanism
from rumor.mechanisms.permanence import FreshAnswers, Permanence
from rumor.privacy.audit.certificate import certify
from rumor.privacy.audit.findings import (
    audit_exact,
    audit_samples,
    distinguish,
    external_sampler,
    lower_bound,
)
from rumor.privacy.audit.over_time import audit_over_time

ORACLES: list[FrequencyOracle] = [
    rumor.RandomizedResponse(domain=10, epsilon=1.0),
    rumor.UnaryEncoding(domain=10, epsilon=1.0),
    rumor.SubsetSelection(domain=10, epsilon=1.0),
    rumor.HadamardResponse(domain=10, epsilon=1.0),
    rumor.LocalHashing(domain=10, epsilon=1.0),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_every_oracle_passes_and_the_game_comes_close(oracle: FrequencyOracle) -> None:
    exact = audit_exact(oracle)
    assert exact.passed
    assert exact.found == pytest.approx(oracle.epsilon, abs=1e-12)
    assert exact.found <= exact.claimed
    # Half of 300,000 reports judge the event: its bound then lies within ten per cent.
    sampled = audit_samples(oracle, samples=300_000, random=rumor.Seeded(1))
    assert sampled.passed
    assert 0.9 * oracle.epsilon < sampled.found <= oracle.epsilon


def test_rappor_passes_once_and_over_time() -> None:
    rappor = rumor.Rappor.full(key=b"key", cohorts=4)
    sampled = audit_samples(rappor, samples=60_000, random=rumor.Seeded(1))
    assert sampled.passed
    assert sampled.found > 0.8 * rappor.epsilon
    basic = rumor.Rappor.basic(labels=3, f=0.25, p=0.25, q=0.75)
    over = audit_over_time(basic, 4, people=1500, random=rumor.Seeded(4))
    assert over.claimed == basic.epsilon_after(4)
    assert over.passed
    # 750 transcripts of each value are judged.
    assert over.found > 0.25 * over.claimed


@pytest.mark.slow
def test_transcripts_are_judged_by_the_model() -> None:
    """Both differing bits of every cohort together; 1,000 devices of a value are judged."""
    once = rumor.Rappor(bits=8, hashes=1, cohorts=2, f=0.5, p=0.25, q=0.75, key=b"key")
    over = audit_over_time(once, 3, people=2000, random=rumor.Seeded(2))
    assert over.passed
    assert over.found > 0.4 * over.claimed
    assert "log-likelihood ratio" in over.detail
    fresh = audit_over_time(
        rumor.RandomizedResponse(domain=3, epsilon=0.5), 2, people=2000, random=rumor.Seeded(3)
    )
    assert fresh.claimed == 1.0
    assert fresh.passed
    assert fresh.found > 0.25


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        rumor.KeyValueBlock(keys=20, epsilon=1.0),
        rumor.PrivKV(keys=20, epsilon=1.0),
        rumor.PrivKV(keys=20, epsilon=1.0, split="exact"),
        rumor.PrivKVM(keys=20, epsilon=1.0).next([0.5] * 20),
        rumor.ItemSampling(keys=20, epsilon=1.0, cap=4),
        rumor.PckvGrr(keys=20, epsilon=1.0, cap=4),
        rumor.Harmony(epsilon=1.0),
        rumor.Piecewise(epsilon=1.0),
        rumor.Window(epsilon=1.0),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_mechanisms_of_numbers_pass_and_the_game_comes_close(mechanism: Mechanism) -> None:
    exact = audit_exact(mechanism)
    assert exact.passed
    assert exact.found == pytest.approx(mechanism.epsilon, abs=1e-12)
    assert exact.found <= exact.claimed
    sampled = audit_samples(mechanism, samples=60_000, random=rumor.Seeded(1))
    assert sampled.passed
    # Thirty thousand reports judge an event that may fall in a hundredth of them.
    assert sampled.found > 0.75 * mechanism.epsilon - 0.03


class NeverClears(rumor.UnaryEncoding):
    """A client that only ever sets bits: a 0 excludes the value."""

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        reports, codes = super()._privatize(values, source), self.encode(values)
        ones = np.left_shift(1, codes & 7).astype(np.uint8)
        reports[np.arange(codes.size), codes >> 3] |= ones
        return reports


class SkipsAValue(rumor.RandomizedResponse):
    """An off-by-one among the lies: the value before the true one never comes out."""

    def draw(self, value: object, draws: Draws) -> bytes:
        code = self.code(value)
        if not draws.coin(self.truth):
            other = draws.below(self.domain - 1)
            code = other + (other >= code - 1)
        return code.to_bytes(self.width, "little")


class ForgetsItsBits(rumor.mechanisms.BasicRappor):
    """A device that draws its permanent bits anew for every report."""

    def report_memoised(
        self, value: object, *, permanent: Keyed, random: RandomSource | None = None
    ) -> bytes:
        return self.report(value)


class ClaimsTooLittle(rumor.RandomizedResponse):
    """A claim that was computed from another threshold than the one in use."""

    @property
    def exact_odds(self) -> Fraction:
        hit = Fraction(self.truth - (1 << 58), WORD)
        return hit * (self.domain - 1) / (1 - hit)

    @classmethod
    def examples(cls) -> list[Self]:
        return []


def test_broken_mechanisms_fail() -> None:
    never = audit_samples(
        NeverClears(domain=10, epsilon=1.0), samples=20_000, random=rumor.Seeded(1)
    )
    assert not never.passed
    assert never.found > 3
    skips = audit_exact(SkipsAValue(domain=5, epsilon=1.0))
    assert not skips.passed
    assert "unlike its model" in skips.detail
    assert not audit_exact(ClaimsTooLittle(domain=5, epsilon=1.0)).passed
    forgets = ForgetsItsBits(domain=2, f=0.5, p=0.0, q=1.0)
    over = audit_over_time(forgets, 4, people=1500, random=rumor.Seeded(5))
    assert not over.passed


class OneBitTells(FreshAnswers):
    """Reports of two bytes of coins, but for bit 13, which is the answer."""

    def report_memoised(
        self, value: object, *, permanent: Keyed, random: RandomSource | None = None
    ) -> bytes:
        assert random is not None
        coins = int(random.stream().words(1)[0]) & 0xFFFF & ~(1 << 13)
        told = value == self.mechanism.audit.pairs_to_compare()[0][0]
        return (coins | told << 13).to_bytes(2, "little")

    def transcript_log_ratio(self, transcripts: Reports, first: object, second: object) -> Vector:
        """Return the verdict of a model that sees nothing."""
        return np.zeros(len(transcripts))


class TellsByOneBit(rumor.UnaryEncoding):
    @property
    def permanence(self) -> Permanence:
        return OneBitTells(self, None)

    @classmethod
    def examples(cls) -> list[Self]:
        return []


def test_a_bit_that_tells_is_found_among_all_bits() -> None:
    tells = TellsByOneBit(domain=16, epsilon=0.1)
    over = audit_over_time(tells, 3, people=100, random=rumor.Seeded(6))
    assert not over.passed
    assert over.detail.endswith("best event: bit 13 is 1 in 0 of 3 reports")


def test_the_lower_bound_is_clopper_and_pearsons() -> None:
    first, second = np.zeros(1000, dtype=np.bool_), np.zeros(1000, dtype=np.bool_)
    first[:500], second[:100] = True, True
    bound = lower_bound(first, second)
    assert 0.9 * math.log(5) > bound > 0.75 * math.log(5)
    assert lower_bound(first, first) == 0.0


def test_a_program_is_audited_like_a_sampler(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        "import sys, rumor\n"
        "mechanism = rumor.RandomizedResponse(domain=4, epsilon=1.0)\n"
        "reports = mechanism.privatize([int(sys.argv[1])] * int(sys.argv[2]))\n"
        "sys.stdout.buffer.write(reports.tobytes())\n"
    )
    mechanism = rumor.RandomizedResponse(domain=4, epsilon=1.0)
    sampler = external_sampler([sys.executable, str(script)], mechanism)
    honest = audit_samples(mechanism, samples=20_000, sampler=sampler)
    assert honest.passed
    assert honest.found > 0.8
    private = rumor.RandomizedResponse(domain=4, epsilon=0.5)
    assert not audit_samples(private, samples=20_000, sampler=sampler).passed
    script.write_text("print('nonsense')")
    with pytest.raises(rumor.InputError, match="must write 20,000 bytes"):
        audit_samples(mechanism, samples=20_000, sampler=sampler)


@pytest.mark.slow
def test_people_with_keys_are_handed_over_as_they_are_typed(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        "import sys, rumor\n"
        "mechanism = rumor.KeyValueBlock(keys=6, epsilon=1.0)\n"
        "import numpy as np\n"
        "table = np.full((int(sys.argv[2]), 6), np.nan)\n"
        "for pair in filter(None, sys.argv[1].split(',')):\n"
        "    key, number = pair.split(':')\n"
        "    table[:, int(key)] = float(number)\n"
        "reports = mechanism.privatize(table)\n"
        "sys.stdout.buffer.write(reports.tobytes())\n"
    )
    mechanism = rumor.KeyValueBlock(keys=6, epsilon=1.0)
    sampler = external_sampler([sys.executable, str(script)], mechanism)
    honest = audit_samples(mechanism, samples=20_000, sampler=sampler)
    assert honest.passed
    assert honest.found > 0.75


@pytest.mark.slow
def test_several_collections_in_one_call(capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"examples/{name}.toml" for name in ("app-usage", "browser", "commute", "travel")]
    assert main(["audit", *files, "--samples", "2000", "--seed", "3"]) == 0
    text = capsys.readouterr().out
    for file in files:
        assert f"{rumor.Collection.load(file).name}: audit passed" in text
    survey = ["audit", "examples/survey.toml", "--samples", "2000", "--seed", "3"]
    assert main([*survey, "--question", "smoking"]) == 0
    text = capsys.readouterr().out
    assert "smoking" in text
    assert "medicine" not in text


def test_the_command_writes_a_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "audit.html"
    example = "examples/browser.toml"
    arguments = ["audit", example, "--samples", "5000", "--seed", "1"]
    assert main([*arguments, "--certificate", str(page)]) == 0
    assert "Home pages: audit passed" in capsys.readouterr().out
    text = page.read_text()
    assert rumor.Collection.load(example).digest in text
    assert "What each part can and cannot show" in text
    assert main([*arguments, "--json"]) == 0
    (audit,) = json.loads(capsys.readouterr().out)["audits"]
    assert audit["passed"] is True
    assert {finding["part"] for finding in audit["findings"]} == {"exact", "black box"}
    assert (audit["python"], audit["version"]) == (platform.python_version(), rumor.__version__)
    assert datetime.date.fromisoformat(audit["day"]) >= datetime.date(2026, 1, 1)
    assert (audit["samples"], audit["seed"]) == (5000, 1)
    assert main([*arguments, "--certificate", "x.pdf"]) == 2
    assert "must end in .html or .json" in capsys.readouterr().err


def test_a_failed_audit_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rumor.SubsetSelection, "epsilon", 0.25)
    collection = rumor.Collection.load("examples/browser.toml")
    assert not certify(collection, samples=5000, seed=1).passed
    assert main(["audit", "examples/browser.toml", "--samples", "5000", "--seed", "1"]) == 1


def test_an_event_does_not_move_with_the_reports_it_is_judged_on() -> None:
    """On a huge domain the likeliest reports are rare; an event that moves would fail this one."""
    oracle = rumor.RandomizedResponse(domain=100_000, epsilon=1.0)
    one, other = (
        oracle.privatize(np.full(100_000, value), random=rumor.Seeded(value)) for value in (3, 4)
    )
    found, _ = distinguish(oracle, one, other, 3, 4)
    assert found <= 1.0


def test_devices_over_time_are_counted_from_nothing_up() -> None:
    basic = rumor.Rappor.basic(labels=["x", "y"], f=0.5, p=0.5, q=0.75)
    said: list[tuple[int, int]] = []
    audit_over_time(
        basic, 2, people=65, random=rumor.Seeded(1), on_progress=lambda *one: said.append(one)
    )
    assert said == [(0, 130), (64, 130), (65, 130), (129, 130)]
