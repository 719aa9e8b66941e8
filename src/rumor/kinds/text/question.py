"""The kind "text": a word from an open vocabulary, by RAPPOR.

Two ways to ask. With `epsilon`, for one report: the permanent stage is left out and the
instantaneous one is spent on the zeros, q = 1/2 and p = 1 / (1 + e^(epsilon / hashes)), with one
hash by default (at a given epsilon, one hash decodes best). Or with `f`, `p` and `q`, for
people who are asked again and again (Erlingsson, Pihur and Korolova 2014, whose values they
have by default).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.exact import checked_epsilon, exp
from rumor.kinds.base import Example, Kind, KindSwitch
from rumor.kinds.filter_key import filter_key
from rumor.mechanisms.rappor.rappor import Rappor

_NOISE = {"f": 0.5, "p": 0.5, "q": 0.75}
_BITS, _COHORTS = 128, 64


class TextQuestion(Kind[Rappor]):
    """Words, as a device knows them."""

    name = "text"
    keys = ("words", "bits", "hashes", "cohorts", "epsilon", "f", "p", "q", "key")
    family = Rappor
    family_rule = "a text question needs the mechanism rappor"
    # Words that nobody listed are a kind of their own.
    kind_switch = KindSwitch("words", "listed", "open", "words")
    memoises = True

    def resolve(self, spec: Mapping[str, object], users: int | None) -> Rappor:
        """RAPPOR with this filter and noise.

        By default the filter's key follows from the series of the collection and the id of
        the question: filters of different questions are unrelated, and a revised collection
        keeps them.
        """
        once = "epsilon" in spec
        hashes = checked_size("hashes", spec.get("hashes", 1 if once else 2), 1, 64)
        noise: dict[str, object] = {name: spec.get(name, usual) for name, usual in _NOISE.items()}
        if once:
            given = [name for name in _NOISE if name in spec]
            if given:
                raise InputError(
                    f"a text question says either epsilon (for one report) or f, p and q; "
                    f"got epsilon and {given[0]}"
                )
            share = Fraction(checked_epsilon(spec["epsilon"])) / hashes
            noise = {"f": 0, "p": 1 / (1 + exp(share)), "q": Fraction(1, 2)}
        return Rappor(
            bits=spec.get("bits", _BITS),  # type: ignore[arg-type]
            hashes=hashes,
            cohorts=spec.get("cohorts", _COHORTS),  # type: ignore[arg-type]
            key=filter_key(spec),
            **noise,  # type: ignore[arg-type]
        )

    def example(self) -> Example:
        """Names of engines."""
        return Example.of_one_column(
            people=("ecosia", "google", "google", "duckduckgo"),
            spec={"bits": 16, "cohorts": 2, "epsilon": 2.0},
            plan={"domain": 20},
            words=("ecosia", "google", "duckduckgo", "bing"),
        )

    def hint(self, mechanism: Rappor) -> str:
        """Anything."""
        return "a word; upper and lower case are different words"
