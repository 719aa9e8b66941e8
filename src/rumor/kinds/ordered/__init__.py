"""The kind "ordered": labels from the least to the most, or numbers within a range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rumor.core.typing import override
from rumor.kinds.ordered.question import OrderedQuestion

if TYPE_CHECKING:
    import altair as alt

    from rumor.core.answer_table import AnswerTable
    from rumor.core.files import PathLike
    from rumor.kinds.planning.learned_cap import LearnedCap
    from rumor.kinds.planning.planned import Size
    from rumor.mechanisms.summary import Summary
    from rumor.mechanisms.wave.wave import Wave
    from rumor.results.view import View


class Ordered(OrderedQuestion):
    """An answer that has an order; the distribution is learned."""

    def strata_chart(
        self, estimates: Mapping[str, Any], by: str, view: View, *, title: str
    ) -> alt.LayerChart:
        """Return a chart of the mean of each stratum."""
        from rumor.kinds.ordered.picture import strata_chart

        return strata_chart(estimates, by, view, title=title)

    def table_advice(self, mechanism: Wave, table: AnswerTable, column: str) -> str | None:
        """Return the advice to ask numbers with few values as labels, where `column` has few."""
        from rumor.kinds.ordered.few_values import advise_labels

        return advise_labels(mechanism, table, column)

    def learned_cap(self, path: PathLike, summary: Summary) -> LearnedCap:
        """Return the 90% quantile of the answers as a cap for another question."""
        from rumor.kinds.ordered.cap import suggest_cap

        return suggest_cap(self._part("estimate").estimate(summary.mechanism, summary, "auto", {}))

    @override
    def largest_error(self, size: Size) -> float:
        return size.span


KIND = Ordered()
