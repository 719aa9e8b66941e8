"""Files to estimates in Python: `rumor.load` and `rumor.estimate` find what the commands find.

A collection may be given as a file or as a `Collection`; reports as a file, a folder of them, a
folder that `rumor export` wrote, a saved summary, or in memory.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.types import Days
from rumor.kinds.estimating import estimate as of_mechanism
from rumor.mechanisms.summary import Summary
from rumor.results.grouped import GroupedEstimates

if TYPE_CHECKING:
    estimate = of_mechanism
else:

    @functools.wraps(of_mechanism)
    def estimate(mechanism: object, data: object, **options: Any) -> Any:  # noqa: D103
        if isinstance(mechanism, (str, os.PathLike, Collection)):
            return estimate_of_collection(mechanism, data, **options)
        return of_mechanism(mechanism, data, **options)


def estimate_of_collection(
    collection: PathLike | Collection,
    data: object,
    *,
    question: str | None = None,
    method: str = "auto",
    by: str | None = None,
    window: Days = (None, None),
    distinct_ids: bool = False,
    skip_invalid: bool = False,
    candidates: PathLike | Sequence[str] | None = None,
    engine: Any = "local",
    weight: str | None = None,
    strata: str | None = None,
    cluster: str | None = None,
    margins: Mapping[str, Mapping[str, float]] | None = None,
    **options: Any,
) -> Any:
    """Estimate one question; with `by`, return one estimate for each group (`GroupedEstimates`).

    Where people have weights, `weight`, `strata` and `cluster` name the public columns that hold
    them, and `margins` has the sizes of the values of further columns, to which weights are raked.
    """
    from rumor.analysis.estimate import analyse, as_collection, stratum_name

    weighted = {"weight": weight, "strata": strata, "cluster": cluster, "margins": margins}
    said = [name for name, value in weighted.items() if value]
    if not isinstance(data, (str, os.PathLike)):
        if said:
            raise InputError(
                f"columns of weights are of reports in files (rumor.weigh takes reports in "
                f"memory); got {said[0]}"
            )
        if by is not None or window != (None, None) or distinct_ids or skip_invalid:
            raise InputError(
                "groups, days, ids and invalid reports are chosen among reports in files; "
                "got reports in memory"
            )
        asked = as_collection(collection).question(question)
        words: dict[str, Any] = {} if candidates is None else {"candidates": candidates}
        return of_mechanism(asked.mechanism, data, method=method, **words, **options)
    if said:
        from rumor.analysis.combine.method import weigh_stored_people
        from rumor.analysis.compare.method import Counting, ReportSelection
        from rumor.analysis.survey import DesignColumns

        others = {"method": method != "auto", "engine": engine != "local"}
        others |= {"candidates": candidates is not None, **dict.fromkeys(options, True)}
        beside = [name for name, given in others.items() if given]
        if beside:
            raise InputError(
                f"people with weights have unbiased estimates, read in this process; got "
                f"{said[0]} with {beside[0]}"
            )
        sizes = tuple((name, dict(known)) for name, known in (margins or {}).items())
        counting = Counting("local", window, distinct_ids, skip_invalid)
        return weigh_stored_people(
            ReportSelection(collection, data, question, counting=counting),
            DesignColumns(weight, strata, cluster, sizes),
            by=by,
        )
    found = analyse(
        collection,
        data,
        question=question,
        method=method,
        engine=engine,
        by=by,
        window=window,
        distinct_ids=distinct_ids,
        skip_invalid=skip_invalid,
        candidates=candidates,
        options=options,
    )
    if by is None:
        return found.estimates[None]
    named = {stratum_name(stratum): result for stratum, result in found.estimates.items()}
    return GroupedEstimates(by, named)


def load(
    path: PathLike | Collection,
    reports: PathLike | None = None,
    *,
    question: str | None = None,
    window: Days = (None, None),
    distinct_ids: bool = False,
    skip_invalid: bool = False,
) -> Any:
    """Load a collection's file as a `Collection`, or a saved summary as a `Summary`.

    With `reports` beside a collection, the `Summary` of one question's reports there: a file, a
    folder or a saved summary, found and checked as `rumor estimate` does.
    """
    if reports is not None:
        from rumor.analysis.estimate import as_collection, count

        with count(
            as_collection(path),
            reports,
            question=question,
            window=window,
            distinct_ids=distinct_ids,
            skip_invalid=skip_invalid,
        ) as counted:
            return counted.totals.summaries[None]
    if isinstance(path, Collection):
        return path
    if Path(path).suffix.lower() == ".parquet" or Path(path).is_dir():
        raise InputError(
            f"reports need their collection: rumor.load(collection, reports); "
            f"got {str(path)!r} alone"
        )
    return Summary.load(path) if Summary.is_file(path) else Collection.load(path)
