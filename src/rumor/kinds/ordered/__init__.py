"""Answers that have an order: labels from the least to the most, or numbers within a range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.kinds.ordered.question import OrderedQuestion
from rumor.mechanisms.wave import Wave

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

    from rumor.core.answer_table import Table
    from rumor.kinds.dry_run import Trials
    from rumor.kinds.numeric_dry_run import NumericSimulation
    from rumor.kinds.ordered.plan import PlannedOrdered
    from rumor.kinds.ordered.result import OrderedEstimate
    from rumor.kinds.ordered.simulate import Measures
    from rumor.kinds.planning.planned import Size
    from rumor.results.view import View


class Ordered(OrderedQuestion):
    """An answer that has an order; the distribution is learned."""

    def read(
        self,
        id: str,
        mechanism: Wave,
        table: Table,
        column: str | None,
        keep: Sequence[str] = (),
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """Positions of labels, or numbers as they are."""
        from rumor.kinds.ordered.tables import read_ordered

        return read_ordered(mechanism, table, column or id, keep=keep)

    def methods(self) -> tuple[str, ...]:
        """Those for distributions."""
        from rumor.kinds.ordered.estimate import METHODS

        return METHODS

    def estimate(
        self, mechanism: Wave, data: object, method: str, options: Mapping[str, Any]
    ) -> OrderedEstimate:
        """The distribution."""
        from rumor.kinds.ordered.estimate import estimate_ordered

        return estimate_ordered(mechanism, data, method, options)

    def strata_chart(
        self, estimates: Mapping[str, Any], by: str, view: View, *, title: str
    ) -> alt.LayerChart:
        """The median of each stratum."""
        from rumor.kinds.ordered.picture import strata_chart

        return strata_chart(estimates, by, view, title=title)

    def simulate(
        self, id: str, mechanism: Wave, table: Table, column: str | None, trials: Trials
    ) -> NumericSimulation[Measures]:
        """With the answers of a table."""
        from rumor.kinds.ordered.simulate import dry_run

        return dry_run(mechanism, table, id, column, trials)

    def largest_error(self, size: Size) -> float:
        """The whole range."""
        return size.high - size.low

    def planned(self, size: Size) -> PlannedOrdered:
        """So many positions over this range."""
        from rumor.kinds.ordered.plan import PlannedOrdered

        return PlannedOrdered(size.checked_domain(self.least_domain), size.low, size.high)


KIND = Ordered()
