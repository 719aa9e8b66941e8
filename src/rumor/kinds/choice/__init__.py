"""One of a fixed list of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.kinds.choice.question import ChoiceQuestion
from rumor.mechanisms.oracle import FrequencyOracle

if TYPE_CHECKING:
    import pyarrow as pa

    from rumor.core.answer_table import Table
    from rumor.kinds.choice.plan import PlannedChoice
    from rumor.kinds.choice.simulate import Simulation
    from rumor.kinds.dry_run import Trials
    from rumor.kinds.planning.planned import Size
    from rumor.results.estimate import Estimate


class Choice(ChoiceQuestion):
    """One of a fixed list of answers; the share of each is learned."""

    def read(
        self,
        id: str,
        mechanism: FrequencyOracle,
        table: Table,
        column: str | None,
        keep: Sequence[str] = (),
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """Positions of the labels."""
        from rumor.kinds.choice.tables import read_choice

        return read_choice(mechanism, table, column or id, keep=keep)

    def advice(self, mechanism: FrequencyOracle) -> str | None:
        """Labels that are an order say more than a choice makes of them."""
        from rumor.kinds.ordered.looks import looks_ordered

        why = looks_ordered(mechanism.labels or ())
        if why is None:
            return None
        return (
            f'the answers look like an order ({why}): kind = "ordered" learns their distribution, '
            f"median and mean with less error, since neighbours tell of each other"
        )

    def methods(self) -> tuple[str, ...]:
        """Those for frequencies."""
        from rumor.kinds.choice.estimate import METHODS

        return METHODS

    def estimate(
        self, mechanism: FrequencyOracle, data: object, method: str, options: Mapping[str, Any]
    ) -> Estimate:
        """The share of every answer."""
        from rumor.kinds.choice.estimate import estimate_choice

        return estimate_choice(mechanism, data, method, options)

    def simulate(
        self, id: str, mechanism: FrequencyOracle, table: Table, column: str | None, trials: Trials
    ) -> Simulation:
        """With the answers of a table."""
        from rumor.kinds.choice.simulate import dry_run

        return dry_run(mechanism, table, id, column, trials)

    def planned(self, size: Size) -> PlannedChoice:
        """One of so many answers."""
        from rumor.kinds.choice.plan import PlannedChoice

        return PlannedChoice(size.checked_domain(self.least_domain))


KIND = Choice()
