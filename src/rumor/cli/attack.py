"""`rumor attack`: what an attacker learns of one person who is asked again and again."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.common import print_json, progress
from rumor.cli.options import AsJson, Curves, count, option


def attack(
    bits: Annotated[int, count("--bits N", "Bits of the Bloom filter.")] = 128,
    hashes: Annotated[int, count("--hashes N", "Bits that a word sets.")] = 2,
    cohorts: Annotated[int, count("--cohorts N", "Groups with hashes of their own.")] = 64,
    f: Annotated[float, option("-f P", "Permanent noise f (PRR).")] = 0.5,
    p: Annotated[
        float, option("-p P", "Probability p of a 1 if the permanent bit is 0 (IRR).")
    ] = 0.5,
    q: Annotated[
        float, option("-q P", "Probability q of a 1 if the permanent bit is 1 (IRR).")
    ] = 0.75,
    words: Annotated[int, count("--words N", "Number of possible words.")] = 100,
    people: Annotated[int, count("--people N", "Number of simulated respondents.")] = 500,
    seed: Annotated[int, option("--seed N", "Make the run repeatable.")] = 1,
    plot: Curves = None,
    as_json: AsJson = False,
) -> None:
    """Attack simulated respondents by averaging their reports.

    Compares three devices that are asked up to 1,000 times: one that draws new noise
    for every report, one that sends its permanent bits as they are, and full RAPPOR. It shows
    how often the respondent's word is guessed, and the exact epsilon that was spent.

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
