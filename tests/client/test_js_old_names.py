"""The browser client's old public names: they give what the new names give, and warn once."""

from __future__ import annotations

from tests.javascript import collection, node


def test_every_old_name_gives_the_new_one_and_warns_once() -> None:
    asked = collection({"kind": "choice", "epsilon": 1.0, "labels": ["yes", "no"]})
    found = node("old-names.mjs", given={"contract": asked.contract()})
    assert len(found["members"]) >= 5
    for member in found["members"]:
        assert member["first"] == member["second"] == f"the {member['renamed']}"
        assert member["keys"] == [member["renamed"]], "an old name is not listed"
        sentence = f"is now {member['renamed']}; the old name works until version 2"
        assert member["warnings"] == [f"{member['owner']}.{member['old']} {sentence}"]
    for old, new in found["alike"]:
        assert old == new
    assert found["trials"] == 3
    assert found["warnings"] == [
        "rehearse of rehearsal.js is now drawTrialReports of trial.js; "
        "the old name works until version 2"
    ]
