"""What is said before anybody is asked, and of what people spend, is the same in the next version.

Plans, dry runs, accounts, crowds that shuffle, crafted reports and audits. A change is one that
users notice: it goes into CHANGELOG, and the file is written anew by
`python -m tests.vectors.make_answers` and READ.
"""

from __future__ import annotations

import pytest

from tests.answers.cases import SLOW, computed, plans
from tests.answers.plain import difference, read

_PLANS = plans()


@pytest.mark.parametrize("name", _PLANS)
@pytest.mark.slow_cases(*SLOW)
def test_a_plan_stays(name: str) -> None:
    assert not difference(computed(_PLANS[name]), read("answers").get(name, "nothing"), name)
