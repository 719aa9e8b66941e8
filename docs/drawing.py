"""How the documentation draws: SVG text of our own, the same bytes on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from rumor.results.chart_parts import INK, LINE, TRUTH

GREY, PALE = "#767676", "#e6e6e6"
BLUE, DARK, ORANGE, GREEN, PURPLE = "#4c9bd6", LINE, TRUTH, "#2b8a3e", "#862e9c"
LINES = (DARK, ORANGE, GREEN, PURPLE, BLUE)
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 2")

Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate, short and the same on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(
    at: Point,
    words: str,
    *,
    size: float = 13,
    anchor: str = "start",
    colour: str = INK,
    weight: str = "normal",
    turn: float = 0,
    halo: bool = False,
) -> str:
    """A line of text; a white halo keeps it readable over lines."""
    x, y = number(at[0]), number(at[1])
    turned = f' transform="rotate({number(turn)} {x} {y})"' if turn else ""
    heavy = f' font-weight="{weight}"' if weight != "normal" else ""
    if halo:
        heavy += ' stroke="#ffffff" stroke-width="5" stroke-linejoin="round" paint-order="stroke"'
    return (
        f'<text x="{x}" y="{y}" font-size="{number(size)}" text-anchor="{anchor}" '
        f'fill="{colour}"{heavy}{turned}>{escape(words)}</text>'
    )


def line(start: Point, end: Point, *, colour: str = INK, width: float = 1, dash: str = "") -> str:
    """A straight line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    a, b, c, d = (number(v) for v in (*start, *end))
    return (
        f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}" stroke="{colour}" '
        f'stroke-width="{number(width)}"{dashed}/>'
    )


def box(
    at: Point, size: Point, *, fill: str, stroke: str = "none", round_: float = 0, dash: str = ""
) -> str:
    """A rectangle."""
    x, y, width, height = (number(v) for v in (*at, *size))
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{number(round_)}" '
        f'fill="{fill}" stroke="{stroke}"{dashed}/>'
    )


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole picture on white, with a title for those who cannot see it."""
    w, h = number(width), number(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" '
            f'height="{h}" font-family="sans-serif" role="img">',
            f"<title>{escape(title)}</title>",
            box((0, 0), (width, height), fill="#ffffff"),
            *parts,
            "</svg>\n",
        ]
    )


@dataclass(frozen=True)
class Axis:
    """One direction of a plot: its ends, its marks, its name."""

    name: str
    low: float
    high: float
    marks: Sequence[float]
    log: bool = False
    show: Callable[[float], str] = field(default=lambda v: f"{v:g}")

    def part(self, value: float) -> float:
        """How far along the axis a value stands, from 0 to 1."""
        if self.log:
            span = math.log(self.high / self.low)
            return math.log(max(value, self.low) / self.low) / span
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Curve:
    """A named line of a plot; its name stands beside one of its points, by default the last."""

    name: str
    points: Sequence[Point]
    nudge: float = 0
    dots: bool = False
    beside: int = -1
    centred: bool = False


def plot(title: str, x: Axis, y: Axis, curves: Sequence[Curve], *, room: float = 150) -> str:
    """Curves with their names beside them."""
    left, top, width, height = 70.0, 44.0, 480.0, 280.0

    def place(point: Point) -> Point:
        return left + width * x.part(point[0]), top + height * (1 - y.part(point[1]))

    parts = [text((left, 24), title, size=15, weight="bold")]
    for mark in x.marks:
        at, _ = place((mark, y.low))
        parts.append(line((at, top), (at, top + height), colour=PALE))
        parts.append(text((at, top + height + 18), x.show(mark), size=12, anchor="middle"))
    for mark in y.marks:
        _, at = place((x.low, mark))
        parts.append(line((left, at), (left + width, at), colour=PALE))
        parts.append(text((left - 8, at + 4), y.show(mark), size=12, anchor="end"))
    middle = left + width / 2
    parts.append(text((middle, top + height + 42), x.name, anchor="middle"))
    parts.append(text((18, top + height / 2), y.name, anchor="middle", turn=-90))
    names = []
    for i, curve in enumerate(curves):
        colour = LINES[i % len(LINES)]
        spots = [place(point) for point in curve.points]
        path = " ".join(f"{number(a)},{number(b)}" for a, b in spots)
        dash = f' stroke-dasharray="{DASHES[i]}"' if DASHES[i] and not curve.dots else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2"{dash}/>'
        )
        if curve.dots:
            parts += [
                f'<circle cx="{number(a)}" cy="{number(b)}" r="3.4" fill="{colour}"/>'
                for a, b in spots
            ]
        end = spots[curve.beside]
        names.append(
            text(
                (end[0] + (0 if curve.centred else 9), end[1] + 4 + curve.nudge),
                curve.name,
                colour=colour,
                weight="bold",
                anchor="middle" if curve.centred else "start",
                halo=curve.centred,
            )
        )
    return picture(left + width + room, top + height + 60, title, [*parts, *names])
