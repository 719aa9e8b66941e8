"""`rumor attack`: what an attacker learns of one person who is asked again and again."""

from __future__ import annotations

from typing import Annotated

import typer

from rumor.cli.common import AsJson, print_json, progress


def attack(
    bits: Annotated[int, typer.Option("--bits", help="Bits of the Bloom filter.")] = 128,
    hashes: Annotated[int, typer.Option("--hashes", help="Bits that a word sets.")] = 2,
    cohorts: Annotated[
        int, typer.Option("--cohorts", help="Groups with hashes of their own.")
    ] = 64,
    f: Annotated[float, typer.Option("-f", help="Permanent noise.")] = 0.5,
    p: Annotated[float, typer.Option("-p", help="P(report 1 | permanent bit 0).")] = 0.5,
    q: Annotated[float, typer.Option("-q", help="P(report 1 | permanent bit 1).")] = 0.75,
    words: Annotated[int, typer.Option("--words", help="Words a person might hold.")] = 100,
    people: Annotated[int, typer.Option("--people", help="How many people to attack.")] = 500,
    seed: Annotated[int, typer.Option("--seed", help="Makes the run repeatable.")] = 1,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Write the curves to .html, .png or .svg."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Attack simulated people by averaging what they send.

    Compares three devices that are asked up to 1,000 times: one that draws every report
    afresh, one that sends its permanent bits as they are, and full RAPPOR. It shows how often
    the person's word is guessed, and the exact epsilon that was spent.

    \b
    Example:
      rumor attack --words 50 --plot attack.html
    """
    from rumor.mechanisms import Rappor
    from rumor.privacy.attack import attack as run

    rappor = Rappor(bits=bits, hashes=hashes, cohorts=cohorts, f=f, p=p, q=q, key=b"rumor attack")
    with progress("attacking") as on_progress:
        record = run(rappor, words=words, people=people, seed=seed, on_progress=on_progress)
    if plot is not None:
        record.plot(plot)
    if as_json:
        print_json(record.to_dict())
    else:
        print(record.table())
