"""From a summary to an estimate: the mechanism's kind knows how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.types import Days
from rumor.estimators.frequency.channels import is_channel
from rumor.kinds import kind_of
from rumor.kinds.channel_matrix import estimate_channel
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.wave.wave import Wave
from rumor.results.estimate import Estimate
from rumor.results.rows import Tabular

# For type checkers alone: an import and an overload for each kind that has an estimate of its own.
if TYPE_CHECKING:
    from rumor.kinds.joint.result import JointEstimate
    from rumor.kinds.keyvalue.result import KeyValueEstimate
    from rumor.kinds.number.result import MeanEstimate
    from rumor.kinds.ordered.result import OrderedEstimate
    from rumor.kinds.set.result import SetEstimate
    from rumor.kinds.word_estimate import WordEstimate
    from rumor.kinds.words.result import OpenWordEstimate


class Contract(Protocol):
    """The part of a collection that estimation needs, typed here because contracts are a higher
    layer.
    """

    @property
    def digest(self) -> str:
        """The digest that identifies the collection."""
        ...

    def question(self, id: str | None = None) -> Any:
        """Return the question called `id`."""
        ...


@overload
def estimate(  # type: ignore[overload-overlap]
    mechanism: MeanMechanism, data: object, *, method: str = ...
) -> MeanEstimate: ...
@overload
def estimate(  # type: ignore[overload-overlap]
    mechanism: KeyValueMechanism,
    data: object,
    *,
    method: str = ...,
    eta: float = ...,
    theta: object = ...,
    max_iterations: int = ...,
) -> KeyValueEstimate: ...
@overload
def estimate(mechanism: SetMechanism, data: object, *, method: str = ...) -> SetEstimate: ...
@overload
def estimate(  # type: ignore[overload-overlap]
    mechanism: Wave,
    data: object,
    *,
    method: str = ...,
    tolerance: float = ...,
    iterations: int = ...,
    assume: str | None = ...,
) -> OrderedEstimate: ...
@overload
def estimate(  # type: ignore[overload-overlap]
    mechanism: Mixed, data: object, *, method: str = ...
) -> JointEstimate: ...
@overload
def estimate(
    mechanism: OpenWords, data: object, *, method: str = ..., **options: Any
) -> OpenWordEstimate: ...
@overload
def estimate(
    mechanism: Rappor, data: object, *, method: str = ..., candidates: object, **options: Any
) -> WordEstimate: ...
@overload
def estimate(
    mechanism: PathLike | Contract,
    data: object,
    *,
    question: str | None = ...,
    method: str = ...,
    by: str | None = ...,
    window: Days = ...,
    distinct_ids: bool = ...,
    skip_invalid: bool = ...,
    candidates: PathLike | Sequence[str] | None = ...,
    engine: Any = ...,
    **options: Any,
) -> Any: ...
@overload
def estimate(
    mechanism: object,
    data: object,
    *,
    method: str = ...,
    target: str = ...,
    start: object = ...,
    gap: float = ...,
    tolerance: float = ...,
    eta: float = ...,
    norm: str = ...,
    max_iterations: int = ...,
    max_updates: int = ...,
    per_bit: bool = ...,
    likelihood: str = ...,
) -> Estimate: ...
def estimate(mechanism: object, data: object, *, method: str = "auto", **options: Any) -> Tabular:
    """Return the estimate of a population's answers, from reports or from a summary of them.

    `rumor.estimate` takes paths as well, `rumor.estimate("collection.toml", "reports.parquet")`,
    with question, by, window, distinct_ids, skip_invalid and candidates as `rumor estimate` has
    them; `by` a column gives an estimate for each of its values.

    A `EstimationData` holds both, the reports also where an engine keeps them.

    `mechanism` is the one that made the reports, or an explicit channel matrix
    P[x, y] = P(output y | input x); then `data` is how often each output was seen. To methods
    "em" and "bayes" the columns seen will do, times any constant; as an array, a sparse matrix
    or a function from an output to its column, with counts by output.

    Methods for frequencies: "auto" (empirical Bayes on the counts; the default), "refined"
    (a second pass over the reports, for unary encoding and subset selection), "bayes" (largest
    likelihood, certified), "em" (the iterative Bayesian update), "inversion" (unbiased), "clip"
    (negatives to zero, rescaled), "projection" (nearest point of the simplex), "norm-sub" (the
    same, by its published iteration). Their options are in rumor.kinds.channel_matrix. "bayes",
    "em" and "refined" need the reports, or a summary that counts whole reports.

    Other kinds have methods of their own, which the file `estimate` in the folder of each lists.
    Words of RAPPOR are decoded against `candidates`.
    """
    if isinstance(mechanism, Mechanism):
        return kind_of(mechanism).estimate(mechanism, data, method, options)
    if is_channel(mechanism):
        return estimate_channel(mechanism, data, method, options)
    raise InputError(
        f"estimate needs a mechanism or a channel matrix; got {format_value(mechanism)}"
    )
