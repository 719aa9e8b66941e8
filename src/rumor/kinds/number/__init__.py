"""One number within a range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.kinds.number.question import NumberQuestion
from rumor.mechanisms.mean import MeanMechanism

if TYPE_CHECKING:
    import pyarrow as pa

    from rumor.core.answer_table import Table
    from rumor.kinds.dry_run import Trials
    from rumor.kinds.number.plan import PlannedNumber
    from rumor.kinds.number.result import MeanEstimate
    from rumor.kinds.numeric_dry_run import NumericSimulation
    from rumor.kinds.planning.planned import Size


class Number(NumberQuestion):
    """One number within a range; its mean is learned."""

    def read(
        self,
        id: str,
        mechanism: MeanMechanism,
        table: Table,
        column: str | None,
        keep: Sequence[str] = (),
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """A column of numbers, as it is."""
        from rumor.kinds.reading import read_column

        return read_column(table, column or id, "number", lambda numbers: numbers, keep)

    def methods(self) -> tuple[str, ...]:
        """Those for means."""
        from rumor.kinds.number.estimate import MEAN_METHODS

        return MEAN_METHODS

    def estimate(
        self, mechanism: MeanMechanism, data: object, method: str, options: Mapping[str, Any]
    ) -> MeanEstimate:
        """The mean."""
        from rumor.kinds.number.estimate import estimate_number

        return estimate_number(mechanism, data, method, options)

    def simulate(
        self, id: str, mechanism: MeanMechanism, table: Table, column: str | None, trials: Trials
    ) -> NumericSimulation[MeanEstimate]:
        """With the numbers of a table."""
        from rumor.kinds.number.simulate import dry_run

        return dry_run(mechanism, table, id, column, trials)

    def largest_error(self, size: Size) -> float:
        """The whole range."""
        return size.high - size.low

    def planned(self, size: Size) -> PlannedNumber:
        """A number within this range."""
        from rumor.kinds.number.plan import PlannedNumber

        return PlannedNumber(size.low, size.high)


KIND = Number()
