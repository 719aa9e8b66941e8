"""The kind "joint": several answers in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.core.errors import InputError
from rumor.core.typing import override
from rumor.kinds.joint.question import JointQuestion, linked_parts
from rumor.mechanisms.mixed.mixed import Mixed

if TYPE_CHECKING:
    import altair as alt

    from rumor.kinds.joint.result import JointEstimate
    from rumor.kinds.planning.planned import Size
    from rumor.mechanisms.base import Mechanism
    from rumor.mechanisms.oracle import FrequencyOracle
    from rumor.results.view import View


class Joint(JointQuestion):
    """Two to four answers; tables, margins and associations are learned."""

    def labels_for_missing(self, mechanism: Mixed) -> Sequence[str]:
        """Return the labels that all parts have."""
        first, *others = mechanism.parts.labels or ((),)
        return [label for label in first if all(label in labels for labels in others)]

    def strata_chart(
        self, estimates: Mapping[str, Any], by: str, view: View, *, title: str
    ) -> alt.VConcatChart:
        """Return a chart with a table for each stratum."""
        from rumor.kinds.joint.picture import strata_chart

        return strata_chart(estimates, by, view, title=title)

    @override
    def check_linked(self, mechanisms: Mapping[str, Mechanism]) -> None:
        linked_parts(mechanisms)

    def estimate_linked(
        self, asked: Mapping[str, tuple[FrequencyOracle, object]], method: str = "auto"
    ) -> JointEstimate:
        """Return the table of two choices that were asked apart."""
        from rumor.kinds.joint.linked import estimate_linked

        return estimate_linked(asked, method)

    def check_size(self, size: Size) -> None:
        """Refuse a `size` that is not a number of values for each part."""
        if size.cap is not None or size.domain is not None:
            raise InputError("a joint question is planned by its parts (5x4); got another size")


KIND = Joint()
