"""Reports with their public columns, for a regression: what `rumor regress` reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rumor.contract.collection import Question
from rumor.contract.report_file import DAMAGE, NO_STRATA, damaged, report_bytes
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Days
from rumor.engines.analysis import opened, stored_reports
from rumor.engines.comparing import Stored
from rumor.engines.people import repeated_within
from rumor.engines.sources import within
from rumor.kinds import KINDS
from rumor.kinds.formula import column_names, right_side
from rumor.kinds.regressing import regress_kind
from rumor.mechanisms.summary import Summary
from rumor.results.regression import Regression


def regress_reports(stored: Stored, formula: str, reference: str | None = None) -> Regression:
    """A question's answer explained by kept columns of a reports file or a folder of them.

    They are read here, whatever engine counts, each report once.
    """
    contract = opened(stored.collection)
    path, window = stored.path, stored.counting.window
    right_side(formula)
    if Summary.is_file(path):
        raise InputError(
            f"a regression needs reports with their columns; {str(path)!r} is a summary"
        )
    source = stored_reports(path, contract, stored.question, window)
    asked = source.question
    public = [name for name in source.files[0].schema.names if name not in NO_STRATA]
    names = column_names(formula, public)
    if not names:
        raise InputError(
            f"a formula names public columns of the reports ({', '.join(public) or 'none'}); "
            f"got {formula!r}"
        )
    reports, columns = _read([file.path for file in source.files], names, window)
    if not len(reports):
        raise InputError(f"a regression needs at least one report; got none in {str(path)!r}")
    valid = asked.mechanism.validate(reports)
    if stored.counting.skip_invalid and not valid.all:
        reports, columns = reports[valid.valid], columns.filter(pa.array(valid.valid))
    return regress_kind(
        KINDS[asked.kind],
        asked.mechanism,
        reports,
        columns,
        formula,
        reference,
        heading=_heading(asked, formula),
        notes=tuple(repeated_within(asked, stored.different_people)),
    )


def _heading(asked: Question, formula: str) -> str:
    told = f"{asked.id} ~ {right_side(formula).strip()}"
    return f"{asked.id}: {asked.text}\n{told}" if asked.text else told


def _read(paths: list[Path], names: list[str], window: Days) -> tuple[Reports, pa.Table]:
    """The reports of these days, and their columns."""
    parts, kept = [], []
    for path in paths:
        try:
            rows = pq.read_table(path, columns=["report", "day", *names])
        except DAMAGE:
            raise damaged(path) from None
        if window != (None, None):
            rows = rows.filter(within(rows.column("day"), window))
        reports = rows.column("report").combine_chunks()
        parts.append(report_bytes(reports))
        kept.append(rows.select(names))
    columns = pa.concat_tables(kept, promote_options="permissive")
    plain = [_numbers(one) for one in columns.columns]
    return np.concatenate(parts), pa.table(dict(zip(names, plain, strict=True)))


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers that a table of text holds, as numbers; everything else as it is."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    try:
        return pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return column
