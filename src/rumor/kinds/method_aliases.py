"""Names of estimation methods in the literature, and which method of a kind each of them means.

An alias is resolved where an option or a keyword is read: estimates carry our names only. A name
has a meaning for some kinds only, since methods of one name differ between kinds.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from rumor.core.checks import nearest
from rumor.core.errors import InputError

_ITERATED = dict.fromkeys(("ibu", "gibu", "iterative-bayes"), "em")
_LINEAR = dict.fromkeys(("inv", "unbiased"), "inversion")

ALIASES: Mapping[str, Mapping[str, str]] = {
    "choice": {
        **_ITERATED,
        "mle": "bayes",
        **_LINEAR,
        "norm-mul": "clip",
        "simplex": "projection",
        **dict.fromkeys(("eb", "empirical-bayes"), "auto"),
    },
    "ordered": _ITERATED,
    "set": _LINEAR,
    "text": {**_ITERATED, "lasso": "lasso-ols"},
    "words": {"prefix-search": "grown"},
    "number": _LINEAR,
    "keyvalue": {**_ITERATED, **_LINEAR},
}
"""Every alias, by kind. docs/reference/estimators.md lists them too; a test compares the two."""


def aliases_of(lineage: Iterable[str]) -> dict[str, str]:
    """Return the aliases of a kind: those of the nearest kind of its `lineage` that has any."""
    return dict(next((ALIASES[kind] for kind in lineage if kind in ALIASES), {}))


def resolve_method(method: str, known: Collection[str], aliases: Mapping[str, str]) -> str:
    """Return our name of `method`, one of the `known` methods or of their `aliases`.

    A name that is nearly one of them is refused, with a suggestion; any other comes back as it is,
    for `checked_method` to refuse.
    """
    if not isinstance(method, str) or method in known:
        return method
    if method in aliases:
        return aliases[method]
    spellings = [*known, *aliases]
    folded = method.lower()
    if difflib.get_close_matches(folded, spellings, n=1):
        near = nearest(folded, spellings).removeprefix(repr(folded))
        near = f" (did you mean {folded!r}?)" if folded in spellings else near
        raise InputError(f"method must be one of {', '.join(known)}; got {method!r}{near}")
    return method
