"""The search for shapes that the counts support: curves, heaps, atoms, steps and levels.

For each set of extra columns and atoms, the priors of every order are fitted, as far as they
matter. Whatever is not smooth is added one at a time, the best first: that which leads to the best
fit, rough or smooth, since an atom may buy smoothness. It stays while the summed marginal
likelihood rises by more than its prior cost; the first that does not is averaged in as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.kinds.ordered.fit import atoms, steps
from rumor.kinds.ordered.fit.likelihood import BandCounts, ShapeFit, fit
from rumor.kinds.ordered.fit.shapes import Extra, Law, Level, Marks, Shape, Step, families
from rumor.kinds.ordered.fit.staircase import MOST, staircase

# An order is abandoned once its log marginal likelihood is this far below its best.
_HOPELESS_BEHIND = 9.0
_HOPELESS_BEHIND_ROUGH = 6.0


@dataclass(frozen=True, eq=False)
class ShapeFits:
    """The fits of all priors with one set of extra columns and atoms, and its prior cost."""

    extras: tuple[Extra, ...]
    atoms: tuple[int, ...]
    fits: list[ShapeFit]
    cost: float
    room: float = 0.0
    """The log of the effective number of places where the extras may lie."""

    @cached_property
    def scores(self) -> Vector:
        """The logarithms of the fits' weights, up to a constant."""
        beside = self.room - self.cost
        return np.array([each.evidence + each.shape.law.odds + beside for each in self.fits])

    @property
    def score(self) -> float:
        """The logarithm of the fits' summed weight."""
        return float(np.logaddexp.reduce(self.scores))

    @property
    def best(self) -> ShapeFit:
        """The fit of the largest weight."""
        return self.fits[int(self.scores.argmax())]


def climb(
    seen: BandCounts,
    extras: tuple[Extra, ...] = (),
    atoms: tuple[int, ...] = (),
    cost: float = 0.0,
    starts: Mapping[Law, Vector] | None = None,
    hopeless: Set[Law] = frozenset(),
) -> ShapeFits:
    """Fit every order, from the smoothest prior on; `starts` are parameters to begin at.

    Priors that intervals rest on are fitted in any case, as far as they differ in marginal
    likelihood; `hopeless` priors are left out.
    """
    found: list[ShapeFit] = []
    for family in families(seen.domain):
        floored = any(law.rough for law in family)
        best = rough = -np.inf
        before: list[Vector] = []
        for law in family:
            if law in hopeless:
                continue
            known = [starts[law]] if starts is not None and law in starts else []
            now = fit(seen, Shape(seen.domain, law, extras, atoms), before + known)
            found.append(now)
            before = [now.parameters]
            best = max(best, now.evidence)
            if law.rough:
                rough = max(rough, now.evidence)
            done = not floored or (law.rough and now.evidence < rough - _HOPELESS_BEHIND_ROUGH)
            if done and now.evidence < best - _HOPELESS_BEHIND:
                break
    return ShapeFits(extras, atoms, found, cost)


_FEWEST_VALUES = 5
_MOST_ATOMS = 12
# The number of best fits under which steps are searched.
_LOOKED_AT = 2
# A curve with fewer effective parameters than this needs no staircase.
_FREEDOM = 10.0
# Extras predicted to stay this far behind are not tried.
_CHANCE = 3.0
_ALIKE = 0.7
# A prior that stays this far behind, even at twice its predicted gain, is not fitted.
_HOPELESS = 25.0
# On at most this many values, two levels are tried, whatever the order of the values.
_FEW = 16
# Priors below this part of the total weight are left out.
_LEAST = 1e-4

Places = list[tuple[Rows, Vector]]


@dataclass(frozen=True, eq=False)
class Member:
    """One fitted shape with its weight."""

    fit: ShapeFit
    score: float
    """The logarithm of the shape's weight, up to a constant."""
    places: Places = field(default_factory=list)
    """The values where each atom may lie, with their probabilities."""
    moves: list[tuple[Vector, Vector]] = field(default_factory=list)
    """The changes of the distribution as each step moves, with their probabilities."""

    @cached_property
    def frequency(self) -> Vector:
        """The distribution of the values, each atom and step averaged over its places."""
        found, weights = self.fit.shape.cells(self.fit.parameters)
        for weight, (values, likely) in zip(weights, self.places, strict=True):
            np.add.at(found, values, weight * likely)
        for differences, likely in self.moves:
            found += likely @ differences
        found = np.maximum(found, 0.0)
        return np.asarray(found / found.sum())


def fit_shapes(seen: BandCounts, declared: Sequence[Marks]) -> list[Member]:
    """Return all shapes with weight, and the places of their atoms."""
    groups = [climb(seen)]
    options = [(marks,) for marks in declared] + ([tuple(declared)] if len(declared) > 1 else [])
    for extras in options:
        # All heaps together have the prior probability of no heaps.
        starts = _begun(groups[0], 0.0, len(extras))
        groups.append(climb(seen, extras, (), math.log(len(options)), starts))
    if _FEWEST_VALUES <= seen.domain <= _FEW:
        groups += _levels(seen, groups[0])
    if seen.domain >= _FEWEST_VALUES:
        groups += _beside(seen, _leading(groups))
        stairs = _stairs(seen, _leading(groups))
        if stairs and stairs[0].score > _leading(groups).score:
            groups += _beside(seen, stairs[0])
        groups += stairs
    return _weighed(seen, groups)


def _leading(groups: list[ShapeFits]) -> ShapeFits:
    return max(groups, key=lambda group: group.score)


def _beside(seen: BandCounts, start: ShapeFits) -> list[ShapeFits]:
    """Return the tried atoms and steps: those that raise the marginal likelihood, and the
    last that does not.
    """
    found: list[ShapeFits] = []
    here = start
    while True:
        tried = [
            each
            for each in (_atom(seen, here), _step(seen, here))
            if each is not None and each.foretold > here.score - _CHANCE
        ]
        tried.sort(key=lambda each: -each.foretold)
        for chosen in tried:
            beside = (chosen.extras, chosen.atoms, chosen.cost)
            there = _roomy(seen, climb(seen, *beside, chosen.starts, chosen.hopeless))
            found.append(there)
            if there.score > here.score:
                here = there
                break
        else:
            return found


@dataclass(frozen=True, eq=False)
class _Chosen:
    """One more atom or step: the set to be fitted, and its predicted score."""

    foretold: float
    extras: tuple[Extra, ...]
    atoms: tuple[int, ...]
    cost: float
    starts: dict[Law, Vector]
    hopeless: frozenset[Law] = frozenset()


def _atom(seen: BandCounts, group: ShapeFits) -> _Chosen | None:
    if len(group.atoms) == _MOST_ATOMS:
        return None
    costs = atoms.place_costs(seen.domain) - math.log(len(group.atoms) + 1)
    each = [atoms.gains(seen, member) for member in group.fits]
    reached = [
        np.where(gain > 0, score + gain - costs, -np.inf)
        for score, (gain, _) in zip(group.scores, each, strict=True)
    ]
    law = int(np.argmax([each.max() for each in reached]))
    value = int(reached[law].argmax())
    if reached[law][value] == -np.inf:
        return None
    starts = {
        member.shape.law: atoms.with_atom(member, float(weight[value]))
        for member, (_, weight) in zip(group.fits, each, strict=True)
    }
    gained = np.array([gain[value] for gain, _ in each])
    best = float((group.scores + gained).max())
    hopeless = frozenset(
        member.shape.law
        for member, score in zip(group.fits, group.scores + 2 * gained, strict=True)
        if score < best - _HOPELESS and not member.shape.law.rough
    )
    cost = group.cost + float(costs[value])
    found = (*group.atoms, value)
    return _Chosen(float(reached[law][value]), group.extras, found, cost, starts, hopeless)


def _step(seen: BandCounts, group: ShapeFits) -> _Chosen | None:
    count = len(steps.at(group.extras))
    if count == MOST:
        return None
    more = steps.price(seen.domain, count)
    best, at, height = -np.inf, 0, 0.0
    for number in np.argsort(-group.scores)[:_LOOKED_AT].tolist():
        places, gain, heights = steps.gains(seen, group.fits[number])
        place = int(gain.argmax())
        reached = float(group.scores[number] + gain[place]) - more
        if gain[place] > 0 and reached > best:
            best, at, height = reached, int(places[place]), float(heights[place])
    if best == -np.inf:
        return None
    starts = _begun(group, height)
    extras = (*group.extras, Step(at))
    return _Chosen(best, extras, group.atoms, group.cost + more, starts)


def _levels(seen: BandCounts, plain: ShapeFits) -> list[ShapeFits]:
    """Return fits with two levels, the higher of which holds the most frequent values.

    On few values answers such as "two of five, by halves" are neither smooth nor steps.
    """
    law = families(seen.domain)[0][0]
    order = np.argsort(-plain.fits[-1].frequency, kind="stable")
    found = []
    for count in range(1, seen.domain):
        extra = Level(tuple(sorted(order[:count].tolist())))
        sets = math.log(seen.domain - 1) + math.log(math.comb(seen.domain, count))
        level = fit(seen, Shape(seen.domain, law, (extra,)))
        found.append(ShapeFits((extra,), (), [level], atoms.SURPRISE + sets))
    return found


def _stairs(seen: BandCounts, leading: ShapeFits) -> list[ShapeFits]:
    """Return the fits of all priors on top of the best staircase, if it may win."""
    if leading.best.freedom < _FREEDOM:
        return []
    found = staircase(seen, leading.best.evidence, steps.price(seen.domain, 0))
    if not found:
        return []
    cost = sum(steps.price(seen.domain, count) for count in range(len(found)))
    extras = tuple(Step(place) for place in found)
    single = fit(seen, Shape(seen.domain, families(seen.domain)[0][0], extras))
    room = _room(steps.moves(seen, single))
    if single.evidence - cost + room < leading.score - _CHANCE:
        return []
    return [_roomy(seen, climb(seen, extras, (), cost))]


def _roomy(seen: BandCounts, group: ShapeFits) -> ShapeFits:
    """Return the group with every possible place of its steps counted.

    The prior cost of a step is that its place is one of many; the gain is the sum over those
    places.
    """
    return replace(group, room=_room(steps.moves(seen, group.best)))


def _room(moves: list[tuple[Vector, Vector]]) -> float:
    return -sum(math.log(float(likely[0])) for _, likely in moves)


def _begun(group: ShapeFits, height: float, count: int = 1) -> dict[Law, Vector]:
    """Return starts for the priors of a group with `count` more columns of this `height`."""
    return {
        member.shape.law: np.insert(member.parameters, member.shape.curve, [height] * count)
        for member in group.fits
    }


def _weighed(seen: BandCounts, groups: list[ShapeFits]) -> list[Member]:
    """Return the fits of all groups that have weight, each with its atoms' places."""
    least = max(float(group.scores.max()) for group in groups) + math.log(_LEAST)
    rough = [
        float(score)
        for group in groups
        for score, member in zip(group.scores, group.fits, strict=True)
        if member.shape.law.rough
    ]
    least_rough = max(rough) + math.log(_LEAST)
    found = []
    for group in groups:
        kept = [
            (member, float(score))
            for member, score in zip(group.fits, group.scores, strict=True)
            if score > least or (member.shape.law.rough and score > least_rough)
        ]
        if kept:
            found += _located(seen, group.best, kept)
    return found


def _located(
    seen: BandCounts, leader: ShapeFit, kept: list[tuple[ShapeFit, float]]
) -> list[Member]:
    """Return the fits with the places of their atoms and steps, shared where fits are alike.

    An atom that does nothing under one prior may have nearly all the weight under another, where
    its place is known exactly.
    """
    known: list[tuple[ShapeFit, Places, list[tuple[Vector, Vector]]]] = []
    found = []
    for member, score in sorted(kept, key=lambda each: each[0] is not leader):
        alike = next((each for each in known if _alike(each[0], member)), None)
        if alike is None:
            moves = [(laws - laws[0], likely) for laws, likely in steps.moves(seen, member)]
            alike = (member, atoms.places(seen, member), moves)
            known.append(alike)
        found.append(Member(member, score, alike[1], alike[2]))
    return found


def _alike(one: ShapeFit, other: ShapeFit) -> bool:
    """Return whether atoms have similar weights, and steps similar heights, in two fits."""

    def sizes(member: ShapeFit) -> Vector:
        shape = member.shape
        weights = shape.cells(member.parameters)[1]
        return np.append(member.parameters[len(shape.law.precision) : shape.curve], np.log(weights))

    return bool((np.abs(sizes(one) - sizes(other)) < _ALIKE).all())
