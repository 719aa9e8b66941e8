"""Old names: each warns once a call, says the new name, and gives what the new name gives."""

import copy
import inspect
import pickle

import pytest

import rumor
from rumor.core.deprecation import KEYWORDS, MEMBERS, old_keywords, old_names


@old_names(size="length")
class Base:
    length = 3


@old_names(wide="width")
class Derived(Base):
    width = 4


class TestClasses:
    def test_an_old_member_gives_the_new_one_and_names_it(self) -> None:
        with pytest.warns(DeprecationWarning, match=r"Base\.size is now length"):
            assert Base().size == 3  # type: ignore[attr-defined]

    def test_derived_classes_keep_the_old_names_of_their_base(self) -> None:
        with pytest.warns(DeprecationWarning, match=r"Derived\.wide is now width"):
            assert Derived().wide == 4  # type: ignore[attr-defined]
        with pytest.warns(DeprecationWarning, match=r"Base\.size"):
            assert Derived().size == 3  # type: ignore[attr-defined]

    def test_other_names_are_still_missing(self) -> None:
        with pytest.raises(AttributeError, match="'Derived' object has no attribute 'breadth'"):
            _ = Derived().breadth  # type: ignore[attr-defined]

    def test_copies_and_pickles_work(self) -> None:
        assert copy.deepcopy(Base()).length == pickle.loads(pickle.dumps(Base())).length == 3


class TestKeywords:
    @staticmethod
    @old_keywords(size="length")
    def double(length: int) -> int:
        return 2 * length

    def test_an_old_keyword_is_taken(self) -> None:
        with pytest.warns(DeprecationWarning, match=r"\(size=\) is now length="):
            assert self.double(size=4) == 8  # type: ignore[call-arg]
        assert self.double(length=4) == self.double(4) == 8

    def test_both_are_refused(self) -> None:
        with (
            pytest.warns(DeprecationWarning, match="length="),
            pytest.raises(TypeError, match="length= or size="),
        ):
            self.double(size=4, length=4)  # type: ignore[call-arg]


def test_every_renamed_member_of_rumor_leads_to_one_that_exists() -> None:
    for name in rumor.__all__:
        getattr(rumor, name)  # loads every class
    for cls, renamed in MEMBERS.items():
        for old, new in renamed.items():
            assert old not in dir(cls), (cls, old)
            annotated = any(new in getattr(c, "__annotations__", {}) for c in cls.__mro__)
            assert annotated or hasattr(cls, new), (cls, new)


def test_every_renamed_keyword_of_rumor_is_a_parameter() -> None:
    for function, renamed in KEYWORDS:
        assert set(renamed.values()) <= set(inspect.signature(function).parameters)
