"""Yes or no; the share of each is learned."""

from __future__ import annotations

from rumor.kinds.yesno.question import YesNoQuestion

KIND = YesNoQuestion()
