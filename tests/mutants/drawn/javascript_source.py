"""Every change that the operators can make in a JavaScript file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from tests.mutants.drawn.change import Change, Scope
from tests.mutants.drawn.python_source import SYMMETRIC

_NEGATED = {
    "===": "!==", "!==": "===", "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=",
    "<=": ">",
}  # fmt: skip
_SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_ARITHMETIC = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*", "<<": ">>", ">>": "<<",
    ">>>": "<<", "&": "|", "|": "&", "^": "&",
}  # fmt: skip
_JOINED = {"&&": "||", "||": "&&", "??": "&&"}
_ASSIGNED = {f"{one}=": f"{other}=" for one, other in _ARITHMETIC.items()}
_TWINS = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "round": "floor"}
_EITHER = {"some": "every", "every": "some"}
# Methods that hand over what they are called on, changed.
_METHODS = {"trim", "toLowerCase", "toSorted", "sort", "reverse", "slice", "flat", "normalize"}
_TEXTS = {"string", "template_string"}

_LANGUAGE = Language(tree_sitter_javascript.language())


def changes(file: str, source: bytes) -> list[Change]:
    """Return every change of a JavaScript `source`, in the order of its places."""
    root = _parsed(source)
    found = [one for node in _nodes(root) for one in _of_node(file, source, node)]
    return sorted(found, key=lambda one: (one.start, one.end, one.operator, one.text))


def is_valid(source: bytes, change: Change) -> bool:
    """Return whether the changed source can still be read."""
    changed = change.apply(source)
    return changed != source and not _parsed(changed).has_error


def _parsed(source: bytes) -> Node:
    return Parser(_LANGUAGE).parse(source).root_node


def _nodes(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, in order."""
    yield node
    for child in node.children:
        yield from _nodes(child)


def _of_node(file: str, source: bytes, node: Node) -> Iterator[Change]:
    """Yield the changes of one node itself."""
    for operator, start, end, text in _edits(source, node):
        line = source.count(b"\n", 0, start) + 1
        yield Change(file, operator, start, end, text, line, _scope(node))


def _scope(node: Node) -> Scope:
    """Return the lines of the statement around `node`: up to a block, of which it is the head."""
    at = node
    while at.parent is not None and not at.type.endswith(("statement", "declaration")):
        at = at.parent
    body = at.child_by_field_name("body") or at.child_by_field_name("consequence")
    last = body.start_point[0] if body is not None else at.end_point[0]
    return Scope((at.start_point[0] + 1, last + 1))


_Edit = tuple[str, int, int, str]


def _edits(source: bytes, node: Node) -> Iterator[_Edit]:
    match node.type:
        case "binary_expression":
            yield from _binary(source, node)
        case "augmented_assignment_expression":
            symbol = node.child_by_field_name("operator")
            if symbol is not None and (other := _ASSIGNED.get(_text(source, symbol))):
                yield "arithmetic", symbol.start_byte, symbol.end_byte, other
        case "unary_expression":
            symbol, operand = node.children[0], node.children[1]
            if symbol.type in ("!", "-") and operand.type != "number":
                operator = "boolean" if symbol.type == "!" else "arithmetic"
                yield operator, symbol.start_byte, symbol.end_byte, ""
        case "await_expression":
            word = node.children[0]
            yield "removed await", word.start_byte, word.end_byte, ""
        case "throw_statement":
            yield "removed raise", node.start_byte, node.end_byte, ";"
        case "expression_statement":
            inner = node.children[0]
            inner = inner.children[-1] if inner.type == "await_expression" else inner
            if inner.type == "call_expression":
                yield "removed call", node.start_byte, node.end_byte, ";"
        case "call_expression":
            yield from _call(source, node)
        case "number":
            yield from _number(source, node)
        case "true" | "false":
            other = "false" if node.type == "true" else "true"
            yield _or_default("boolean", node), node.start_byte, node.end_byte, other
        case "if_statement" | "ternary_expression":
            yield from _condition(source, node)
        case "string" | "property_identifier":
            yield from _key(source, node)


def _binary(source: bytes, node: Node) -> Iterator[_Edit]:
    """Yield the changes of the symbol between two operands."""
    symbol = node.child_by_field_name("operator")
    if symbol is None:
        return
    word, place = _text(source, symbol), (symbol.start_byte, symbol.end_byte)
    sides = {node.children[0].type, node.children[-1].type}
    if word in _NEGATED:
        yield "comparison", *place, _NEGATED[word]
    if word in _SHIFTED:
        yield "boundary", *place, _SHIFTED[word]
    if word in _ARITHMETIC and not sides & _TEXTS:
        yield "arithmetic", *place, _ARITHMETIC[word]
    if word in _JOINED:
        yield "boolean", *place, _JOINED[word]


def _call(source: bytes, node: Node) -> Iterator[_Edit]:
    """Yield the changes of what is called, of its arguments, and of the call as such."""
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None or arguments.type != "arguments":
        return
    given = arguments.named_children
    last = _text(source, function).rpartition(".")[2]
    for left, right in pairwise(() if last in SYMMETRIC and len(given) == 2 else given):
        one, other = _text(source, left), _text(source, right)
        if one != other and "spread_element" not in (left.type, right.type):
            gap = source[left.end_byte : right.start_byte].decode()
            yield "swapped arguments", left.start_byte, right.end_byte, other + gap + one
    called = function.child_by_field_name("property")
    owner = function.child_by_field_name("object")
    if called is None or owner is None:
        return
    name = _text(source, called)
    for table, operator in ((_TWINS, "arithmetic"), (_EITHER, "boolean")):
        if name in table:
            yield operator, called.start_byte, called.end_byte, table[name]
    if name in _METHODS and not (name == "slice" and not given):
        yield "removed call", node.start_byte, node.end_byte, _text(source, owner)


def _number(source: bytes, node: Node) -> Iterator[_Edit]:
    """Yield one more and one less; of a fraction twice and half."""
    text = _text(source, node)
    operator, place = _or_default("constant", node), (node.start_byte, node.end_byte)
    big, digits = ("n" if text.endswith("n") else ""), text.rstrip("n").replace("_", "")
    try:
        whole = int(digits, 0)
    except ValueError:
        value = float(digits)
        yield from ((operator, *place, repr(other)) for other in (value * 2, value / 2))
        return
    yield from ((operator, *place, f"{n}{big}") for n in (whole + 1, whole - 1) if n >= 0)


def _condition(source: bytes, node: Node) -> Iterator[_Edit]:
    """Yield the opposite of a condition that is neither compared nor joined."""
    test = node.child_by_field_name("condition")
    inner = test.named_children[0] if test and test.type == "parenthesized_expression" else test
    if inner is not None and inner.type not in ("binary_expression", "unary_expression"):
        opposite = f"!({_text(source, inner)})"
        yield "boolean", inner.start_byte, inner.end_byte, opposite


def _key(source: bytes, node: Node) -> Iterator[_Edit]:
    """Yield the change of a text that something is looked up or told apart by."""
    parent = node.parent
    if parent is None or len(_text(source, node)) < 3:
        return
    start, end = node.start_byte, node.end_byte
    is_key = parent.type == "pair" and parent.child_by_field_name("key") == node
    if node.type == "property_identifier":
        if is_key:
            yield "string key", start, end, f"{_text(source, node)}_"
        return
    compared = parent.type == "binary_expression" and parent.children[1].type in _NEGATED
    looked_up = parent.type in ("subscript_expression", "switch_case")
    operator = "changed default" if parent.type == "assignment_pattern" else "string key"
    if is_key or compared or looked_up or operator == "changed default":
        yield operator, start, end, f"{_text(source, node)[:-1]}_{_text(source, node)[-1]}"


def _or_default(operator: str, node: Node) -> str:
    """Return `operator`, or that this is a default."""
    parent = node.parent
    return "changed default" if parent and parent.type.endswith("assignment_pattern") else operator


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode()
