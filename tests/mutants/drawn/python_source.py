"""Every change that the operators can make in a Python file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.mutants.drawn.change import Change, Scope

_NEGATED = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", ">="), ast.GtE: (">=", "<"),
    ast.Gt: (">", "<="), ast.LtE: ("<=", ">"), ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"), ast.In: ("in", "not in"), ast.NotIn: (r"not\s+in", "in"),
}  # fmt: skip
_SHIFTED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&"),
}  # fmt: skip
_TWINS = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor"}
_EITHER = {"any": "all", "all": "any"}
# Of two arguments, what these return does not depend on their order.
SYMMETRIC = {"max", "min", "maximum", "minimum", "gcd"}
# Calls that hand over their argument, changed: removed, the argument itself goes on.
_FILTERS = {"sorted", "reversed", "abs", "round"}
_METHODS = {"strip", "lower", "casefold", "copy"}
# What these decorators are given changes time or memory, or nothing that runs.
_DECORATORS = {"dataclass", "cache", "lru_cache", "overload", "njit"}
_UNREAD = {"__all__", "__slots__"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def changes(file: str, source: bytes) -> list[Change]:
    """Return every change of a Python `source`, in the order of its places."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda one: (one.start, one.end, one.operator, one.text))


def is_valid(source: bytes, change: Change) -> bool:
    """Return whether the changed source is Python, and other Python than before."""
    try:
        return ast.dump(ast.parse(change.apply(source))) != ast.dump(ast.parse(source))
    except (SyntaxError, ValueError):
        return False


class _Finder(ast.NodeVisitor):
    """Walks a module and keeps what the operators can change."""

    def __init__(self, file: str, source: bytes) -> None:
        self.found: list[Change] = []
        self._file, self._source = file, source
        self._starts = [0, *(m.end() for m in re.finditer(rb"\n", source))]
        self._functions: list[_Function | ast.Lambda] = []
        self._classes: list[str] = []
        self._scope = Scope((1, 1), at_import=True)

    # Where a node stands.

    def _begin(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self._source[self._begin(node) : self._end(node)].decode()

    def _keep(self, operator: str, start: int, end: int, text: str) -> None:
        line = self._source.count(b"\n", 0, start) + 1
        self.found.append(Change(self._file, operator, start, end, text, line, self._scope))

    def _replace(self, operator: str, node: ast.expr | ast.stmt, text: str) -> None:
        self._keep(operator, self._begin(node), self._end(node), text)

    def _without(self, operator: str, node: ast.expr, word: str) -> None:
        """Keep `node` without the word that it begins with."""
        start = self._begin(node)
        found = re.match(rb"\s*", self._source[start + len(word) :])
        self._keep(operator, start, start + len(word) + (found.end() if found else 0), "")

    def _between(
        self, operator: str, left: ast.expr, right: ast.expr, symbol: str, text: str
    ) -> None:
        """Keep a change of the `symbol` between two operands."""
        start = self._end(left)
        word = rf"(?<!\w){symbol}(?!\w)" if symbol[0].isalpha() else re.escape(symbol)
        found = re.search(word.encode(), self._source[start : self._begin(right)])
        if found is not None:
            self._keep(operator, start + found.start(), start + found.end(), text)

    # Scopes.

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            before, self._scope = self._scope, self._scope_of(node)
            super().visit(node)
            self._scope = before
        else:
            super().visit(node)

    def _scope_of(self, node: ast.stmt) -> Scope:
        last = node.end_lineno or node.lineno
        first_of_body = next(iter(getattr(node, "body", ())), None)
        if isinstance(first_of_body, ast.stmt):  # the head alone
            last = max(node.lineno, first_of_body.lineno - 1)
        names = [f.name for f in self._functions[-1:] if isinstance(f, _Function)]
        if not self._functions:
            names = [*_targets(node), *self._classes[-1:]]
        body = None
        if isinstance(node, _Function):
            names, body = [node.name], (node.body[0].lineno, node.end_lineno or node.lineno)
        return Scope((node.lineno, last), not self._functions, tuple(names), body)

    def _visit_function(self, node: _Function) -> None:
        if any(_name(d) in ("overload", "abstractmethod") for d in node.decorator_list):
            return
        for decorator in node.decorator_list:
            if _name(decorator) not in _DECORATORS:
                self.visit(decorator)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self._default(default)
        self._functions.append(node)
        self._statements(node.body)
        self._functions.pop()

    visit_FunctionDef = _visit_function  # noqa: N815
    visit_AsyncFunctionDef = _visit_function  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._classes.append(node.name)
        self._statements(node.body)
        self._classes.pop()

    def visit_Module(self, node: ast.Module) -> None:
        self._statements(node.body)

    def _statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    # Statements.

    def visit_If(self, node: ast.If) -> None:
        if _name(node.test) == "TYPE_CHECKING":
            return
        self._truth(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):  # `while False` of a server: nothing starts
            self.visit(node.test)
        self._statements([*node.body, *node.orelse])

    def visit_Expr(self, node: ast.Expr) -> None:
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(called, ast.Call):
            self._replace("removed call", node, "None")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is None or _name(node.exc) == "NotImplementedError":
            return
        self._replace("removed raise", node, "pass")

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(_name(target) in _UNREAD for target in node.targets):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or _name(node.annotation) == "TypeAlias":
            return
        if self._classes and not self._functions:
            self._default(node.value)  # a field's
        else:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        symbol, other = _ARITHMETIC.get(type(node.op), ("", ""))
        if symbol:
            self._between("arithmetic", node.target, node.value, symbol + "=", other + "=")
        self.generic_visit(node)

    # Expressions.

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone: before Python 3.12 nothing in them knows its place."""

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._truth(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for (left, right), op in zip(
            pairwise([node.left, *node.comparators]), node.ops, strict=True
        ):
            self._between("comparison", left, right, *_NEGATED[type(op)])
            if type(op) in _SHIFTED:
                self._between("boundary", left, right, *_SHIFTED[type(op)])
            for side in (left, right):
                options = side.elts if isinstance(side, ast.Set | ast.Tuple | ast.List) else [side]
                for option in options:
                    self._key(option)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = [s for s in (node.left, node.right) if isinstance(s, ast.JoinedStr) or _is_text(s)]
        if not texts and type(node.op) in _ARITHMETIC and not _is_type(node):
            self._between("arithmetic", node.left, node.right, *_ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._without("boolean", node, "not")
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self._without("arithmetic", node, "-")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self._between("boolean", left, right, symbol, other)
        self.generic_visit(node)

    def visit_Await(self, node: ast.Await) -> None:
        self._without("removed await", node, "await")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name, arguments = _name(node.func), node.args
        if name in ("cast", "TypeVar", "NewType", "getLogger"):
            return
        for table, operator in ((_TWINS, "arithmetic"), (_EITHER, "boolean")):
            if name in table:
                end = self._end(node.func)
                self._keep(operator, end - len(name), end, table[name])
        if name in _FILTERS and len(arguments) == 1 and isinstance(node.func, ast.Name):
            self._replace("removed call", node, f"({self._text(arguments[0])})")
        if name in _METHODS and isinstance(node.func, ast.Attribute) and not arguments:
            self._replace("removed call", node, self._text(node.func.value))
        plain = [a for a in arguments if not isinstance(a, ast.Starred)]
        left_alone = name in ("isinstance", "issubclass") or (
            name in SYMMETRIC and len(arguments) == 2
        )
        if len(plain) == len(arguments) and not left_alone:
            for left, right in pairwise(arguments):
                self._swap(left, right)
        if name in ("get", "pop", "setdefault") and arguments:
            self._key(arguments[0])
        self.visit(node.func)
        for argument in arguments:
            self.visit(argument)
        for keyword in node.keywords:
            if (name, keyword.arg) != ("zip", "strict"):  # nothing while lengths agree
                self.visit(keyword.value)

    def _swap(self, left: ast.expr, right: ast.expr) -> None:
        one, other = self._text(left), self._text(right)
        if one != other:
            gap = self._source[self._end(left) : self._begin(right)].decode()
            start, end = self._begin(left), self._end(right)
            self._keep("swapped arguments", start, end, other + gap + one)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if _name(node.value) in ("Literal", "Annotated"):
            return
        self._key(node.slice)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key in node.keys:
            if key is not None:
                self._key(key)
        self.generic_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> None:
        self._key(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        operator = "boolean" if isinstance(node.value, bool) else "constant"
        for text in _other_values(node.value):
            self._replace(operator, node, text)

    # What several of them do.

    def _default(self, node: ast.expr) -> None:
        """Keep the changes of a parameter's or a field's default."""
        before, self.found = self.found, []
        self.visit(node)
        if _is_text(node):
            self._key(node)
        inner, self.found = self.found, before
        for one in inner:
            start, end = one.start, one.end
            whole = isinstance(node, ast.Constant | ast.UnaryOp)
            self._keep("changed default" if whole else one.operator, start, end, one.text)

    def _key(self, node: ast.expr) -> None:
        """Keep the change of a text that something is looked up or told apart by."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
            text = self._text(node)
            quote = text[-1]
            if len(text.lstrip("rRuU")) == len(node.value) + 2:  # one plain literal
                self._keep("string key", self._begin(node), self._end(node), f"{text[:-1]}_{quote}")

    def _truth(self, test: ast.expr) -> None:
        """Keep the opposite of a condition that is neither compared nor joined."""
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            self._replace("boolean", test, f"(not ({self._text(test)}))")


def _name(node: ast.expr) -> str:
    """Return the last name of what is called or named."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_type(node: ast.BinOp) -> bool:
    """Return whether this is `A | None` or `A | B`, of types."""

    def is_named(side: ast.expr) -> bool:
        name = _name(side)
        is_class = name[:1].isupper() and not name.isupper()
        is_none = isinstance(side, ast.Constant) and side.value is None
        return is_none or is_class or name in ("int", "str", "float", "bytes", "bool", "list")

    return isinstance(node.op, ast.BitOr) and (is_named(node.left) or is_named(node.right))


def _targets(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module or class sets."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _other_values(value: object) -> list[str]:
    """Return what a number or a boolean may be taken for: one more, one less, twice, half."""
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1), *([str(value - 1)] if value else [])]
    if isinstance(value, float):
        return [repr(value * 2), repr(value / 2)] if value else ["1.0"]
    return []
