"""`rumor plan`: which mechanism, what error, what is detectable."""

from __future__ import annotations

from typing import Annotated

import typer

from rumor.cli.common import AsJson, print_json, progress


def plan(
    domain: Annotated[int, typer.Option("--domain", help="How many values there are.")],
    users: Annotated[
        float | None, typer.Option("--users", help="How many people will answer (1e5 is fine).")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="The privacy loss of one report.")
    ] = None,
    error: Annotated[
        float | None, typer.Option("--error", help="The standard error wanted, as a fraction.")
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option("--detect", help="The smallest frequency to detect, as a fraction."),
    ] = None,
    reports: Annotated[
        int, typer.Option("--reports", help="How many reports each person makes.")
    ] = 1,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Also measure the default estimator by simulation."),
    ] = False,
    write: Annotated[
        str | None,
        typer.Option("--write", metavar="FILE", help="Write a collection (.toml) to start from."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Write the curves to .html, .png or .svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose people, epsilon and error: any two give the third.

    \b
    Examples:
      rumor plan --domain 1000 --users 1e5 --epsilon 1
      rumor plan --domain 50 --users 20000 --detect 0.01
      rumor plan --domain 50 --epsilon 1 --error 0.002 --write collection.toml
    """
    from pathlib import Path

    from rumor.errors import InputError
    from rumor.files import write_whole
    from rumor.privacy.plan import make_plan, simulated_gain

    if users is not None and users != int(users):
        raise InputError(f"people must be a whole number; got {users:g}")
    if write is not None and Path(write).suffix != ".toml":
        raise InputError(f"a collection is written to a .toml file; got {write!r}")
    made = make_plan(
        domain=domain,
        users=None if users is None else int(users),
        epsilon=epsilon,
        error=error,
        detect=detect,
        reports=reports,
    )
    gain = None
    if simulate:
        with progress("simulating") as on_progress:
            gain = simulated_gain(made.best, min(made.users, 100_000), on_progress=on_progress)
    if write is not None:
        write_whole(write, made.to_toml().encode())
    if plot is not None:
        made.plot(plot)
    if as_json:
        print_json({**made.to_dict(), "simulated_gain": gain})
        return
    print(made.table())
    if gain is not None:
        print(
            f"Simulated on Zipf's law: the default estimator has {gain:.2f} of the root mean "
            f"squared error of the linear one."
        )
