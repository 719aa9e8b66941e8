"""Names of mechanisms in the literature, and which mechanism of ours each of them means.

An alias is resolved where a collection file or a keyword is read, and nowhere else: contracts,
digests and all output carry the names of `registry` only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rumor.core.checks import nearest
from rumor.core.errors import InputError, format_value
from rumor.mechanisms.registry import ENTRIES


@dataclass(frozen=True)
class Alias:
    """The mechanism that another name means, and the options that the name fixes."""

    mechanism: str
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class OtherAlgorithm:
    """An algorithm that Rumor does not have, and the nearest one that it has."""

    title: str
    nearest: str
    question: str
    """The question in a collection file that is answered by the nearest mechanism."""


ALIASES: Mapping[str, Alias] = {
    **dict.fromkeys(("grr", "krr", "k-rr", "rr"), Alias("randomized-response")),
    "sue": Alias("unary", {"variant": "symmetric"}),
    "oue": Alias("unary", {"variant": "optimized"}),
    **dict.fromkeys(("ss", "k-subset"), Alias("subset-selection")),
    "olh": Alias("local-hashing"),
    "blh": Alias("local-hashing", {"buckets": 2}),
    "hr": Alias("hadamard"),
    "pgr": Alias("projective"),
    "pm": Alias("piecewise"),
    "duchi": Alias("harmony"),
    **dict.fromkeys(("sw", "square-wave"), Alias("wave")),
    "privset": Alias("select", {"least": 1}),
    **{
        name: Alias("paper", {"design": name})
        for name in (
            "warner",
            "forced-response",
            "unrelated-question",
            "crosswise",
            "triangular",
            "kuk",
            "mangat",
        )
    },
}
"""Every alias. docs/reference/mechanisms.md lists them too, and a test compares the two."""

OTHER_ALGORITHMS: Mapping[str, OtherAlgorithm] = {
    "hrr": OtherAlgorithm("Hadamard randomised response", "hadamard", 'kind = "choice"'),
    "cms": OtherAlgorithm("the count mean sketch", "rappor", 'kind = "text"'),
    "hcms": OtherAlgorithm("the Hadamard count mean sketch", "hadamard", 'kind = "choice"'),
    "pem": OtherAlgorithm(
        "the prefix extending method", "open-words", 'kind = "text" and words = "open"'
    ),
}
"""Algorithms that people ask for by name and that are none of ours."""


def resolve_alias(name: str, options: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Return our name of the mechanism `name`, and `options` with those that an alias fixes.

    A name that is no alias comes back as it is.
    """
    if name in OTHER_ALGORITHMS:
        other = OTHER_ALGORITHMS[name]
        raise InputError(
            f"{name!r} ({other.title}) is an algorithm that Rumor does not have; the nearest is "
            f"the mechanism {other.nearest!r}, of questions with {other.question}"
        )
    alias = ALIASES.get(name)
    if alias is None:
        return name, dict(options)
    for key, value in alias.options.items():
        if options.get(key, value) != value:
            raise InputError(
                f"mechanism {name!r} is {alias.mechanism!r} with {key} {format_value(value)}; "
                f"got {key} {format_value(options[key])}"
            )
    return alias.mechanism, {**alias.options, **options}


def unknown_mechanism(name: str, known: Collection[str], *, auto: bool = True) -> InputError:
    """Return the error for `name`, which is none of the `known` mechanisms and their aliases.

    It suggests the nearest spelling. `auto` says that "auto" may be named as well.
    """
    names = [*(["auto"] if auto else []), *known]
    rule = f"a mechanism must be one of {', '.join(names)}"
    parts = [own for own in known if name in own.split("-")]
    if name not in ALIASES:
        spellings = [*names, *(alias for alias, of in ALIASES.items() if of.mechanism in known)]
        spelt = name.lower() if name.lower() in spellings else None
        got = nearest(name, spellings) if spelt is None else f"{name!r} (did you mean {spelt!r}?)"
    elif parts:
        got = f"{name!r} (did you mean {parts[0]!r}?)"
    else:
        ours = ALIASES[name].mechanism
        of = next(entry.kind for entry in ENTRIES if entry.name == ours)
        got = f"{name!r}, which is {ours!r}, for questions of kind {of!r}"
    return InputError(f"{rule}; got {got}")
