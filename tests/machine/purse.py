"""Somebody's tokens, fetched from the issuer as a device does it, and spent otherwise."""

from __future__ import annotations

from pathlib import Path

from rumor.client.respondent import Respondent
from rumor.client.transport import Transport
from rumor.contract.deletion import report_id
from rumor.core.files import Closing
from tests.machine.contracts import BLIND, QUESTIONS, contracts


class Purse(Closing):
    """What one invitation gives."""

    def __init__(self, folder: Path, code: str) -> None:
        self._respondent, self._code = Respondent(folder), code

    def fetched(self) -> list[tuple[str, bytes, str]]:
        """Every token: its question, the id of its report, and itself in hexadecimal."""
        contract = contracts()[BLIND]
        assert contract.issuer is not None
        shown, wanted = self._respondent.enrolment(contract, self._code)
        asked = [(each.key, each.number, each.blinded) for each in wanted]
        answers = Transport(contract.issuer.url).tokens(shown, asked)
        self._respondent.enrol(contract, shown, wanted, answers)
        purse, found = self._respondent._ledger.tokens, []
        scope = self._respondent._ledger.scope(contract, "")
        with self._respondent._ledger.transaction():
            for question in QUESTIONS:
                for _ in range(contract.question(question).reports_in_all):
                    taken = purse.spend(contract, scope, question)
                    assert taken.key is not None
                    found.append((question, report_id(taken.key), taken.token.hex()))
        return found

    def close(self) -> None:
        self._respondent.close()
