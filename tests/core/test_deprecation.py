"""Old names: each warns once a call, says the new name, and gives what the new name gives."""

import ast
import copy
import importlib
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rumor
from rumor.core.deprecation import KEYWORDS, MEMBERS, old_keywords, old_names

USES = re.compile(r"^from rumor\.core\.deprecation import ", re.MULTILINE)


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
    load_sources()
    for cls, renamed in MEMBERS.items():
        for old, new in renamed.items():
            assert old not in dir(cls), (cls, old)
            annotated = any(new in getattr(c, "__annotations__", {}) for c in cls.__mro__)
            assert annotated or hasattr(cls, new), (cls, new)


def test_every_renamed_keyword_of_rumor_is_a_parameter() -> None:
    for function, renamed in KEYWORDS:
        assert set(renamed.values()) <= set(inspect.signature(function).parameters)


def load_sources() -> list[Path]:
    """Import every module that renames something; return the sources of these modules."""
    sources = Path(rumor.__file__).parent
    found = [path for path in sources.rglob("*.py") if USES.search(path.read_text("utf-8"))]
    for path in found:
        importlib.import_module(module_name(path))
    return sorted(found)


def module_name(path: Path) -> str:
    """Return the name of the module with the source file `path`."""
    parts = path.relative_to(Path(rumor.__file__).parent.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def old_module_names() -> Iterator[tuple[str, str]]:
    """Yield every old name in a module (dotted), with its new name."""
    for path in load_sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                for call in ast.walk(node):
                    if isinstance(call, ast.Call) and ast.unparse(call.func) == "old_name":
                        old, new = (ast.literal_eval(argument) for argument in call.args)
                        assert old.startswith(f"{module_name(path)}."), "the name is whole"
                        yield old, new


def test_every_old_member_of_rumor_warns_once_and_gives_the_new_one() -> None:
    load_sources()
    tried = 0
    for cls, renamed in list(MEMBERS.items()):
        for old, new in renamed.items() if cls.__module__.startswith("rumor.") else ():
            given = object()
            # The same class with one member replaced, and no need for an instance's state.
            probe = type(cls.__name__, (cls,), {new: given, "__abstractmethods__": frozenset()})
            probe.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
            message = f"{cls.__name__}.{old} is now {new}; the old name works until version 2"
            with pytest.warns(DeprecationWarning, match=re.escape(message)) as caught:
                assert getattr(object.__new__(probe), old) is given, (cls, old)
            assert len(caught) == 1
            assert caught[0].filename == __file__, "the warning points at the caller"
            tried += 1
    assert tried >= 15


def test_every_old_keyword_of_rumor_warns_once_and_is_taken() -> None:
    load_sources()
    for function, renamed in KEYWORDS:
        for old, new in renamed.items() if function.__module__.startswith("rumor.") else ():
            # Called with one argument too many, the function does nothing but say which.
            message = f"{function.__qualname__}({old}=) is now {new}=; the old name works until"
            with (
                pytest.warns(DeprecationWarning, match=re.escape(message)) as caught,
                pytest.raises(TypeError, match="unexpected keyword argument 'no_parameter'"),
            ):
                function(**{old: None, "no_parameter": None})
            assert len(caught) == 1


def test_every_old_name_in_a_module_warns_once_and_gives_the_new_one() -> None:
    tried = 0
    for whole, new in old_module_names():
        module, _, old = whole.rpartition(".")
        message = f"{whole} is now {new}; the old name works until version 2"
        with pytest.warns(DeprecationWarning, match=re.escape(message)) as caught:
            found = getattr(importlib.import_module(module), old)
        assert found is getattr(importlib.import_module(module), new)
        assert len(caught) == 1
        tried += 1
    assert tried >= 2
