"""Settings for every test: hypothesis must give the same examples at every run."""

from __future__ import annotations

import pytest
from hypothesis import settings

# Derandomised, so that a run proves the same thing every time and cannot flake; without a
# deadline, since compiled loops load at their first call and the machine is shared.
settings.register_profile("rumor", derandomize=True, deadline=None, database=None)
settings.load_profile("rumor")

# The laws are plain functions in modules of their own: let their assertions explain themselves.
pytest.register_assert_rewrite("tests.laws.laws", "tests.laws.oracle_laws", "tests.laws.chance")
