"""`rumor withdraw`: taking back what was sent to a collector."""

from __future__ import annotations

from typing import Annotated

import typer

from rumor.cli.answer import StateDir, default_state_dir
from rumor.cli.common import print_json
from rumor.cli.options import AsJson, argument

_BEYOND = "Earlier exports and publications cannot be withdrawn."


Questions = Annotated[
    list[str] | None, argument("QUESTION...", "Withdraw only the reports of these questions.")
]


def withdraw(
    url: Annotated[str, argument("URL", "The address of the collector.")],
    questions: Questions = None,
    state_dir: StateDir = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw reports that this device sent to a collector.

    The reports that this device sent leave the collector's store and its counts; those that
    wait are never sent. The device keeps what it needs for this until the retention of each
    question is over; after that, only counts are left. Privacy that was spent stays spent, and
    what the collector exported or published before is beyond anybody's reach. Exit status 1
    says that some could not be taken back now.

    \b
    Example:
      rumor withdraw http://127.0.0.1:8000
      rumor withdraw http://127.0.0.1:8000 homepage
    """
    from rumor.client.client import Client

    with Client(url, state_dir or default_state_dir()) as client:
        done = client.withdraw(questions or None)
        spent = client.spent
    if as_json:
        print_json({**vars(done), "spent": spent})
    else:
        print(
            f"{done.withdrawn} report{'s'[: done.withdrawn != 1]} withdrawn, {done.absent} not "
            f"found, {done.left} still to withdraw. Epsilon {spent:.4g} remains spent."
        )
        print(f"not all were withdrawn: {done.problem}" if done.problem else _BEYOND)
    if done.left:
        raise typer.Exit(1)
