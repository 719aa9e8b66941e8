"""`python -m rumor` is the command `rumor`."""

from __future__ import annotations

import sys

from rumor.cli import main

sys.exit(main())
