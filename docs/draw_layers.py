"""Draws layers.svg, the layers with the way of one decision (`python docs/draw_layers.py`)."""

from __future__ import annotations

import html
from pathlib import Path

#: From the top down; the rooms of a layer side by side, as in tests/test_layers.py.
LAYERS = [
    ["cli"],
    ["service"],
    ["experiments"],
    ["advice"],
    ["display", "testing"],
    ["simulation", "agents"],
    ["theory.upper_bounds"],
    ["lookahead"],
    ["policies", "worlds"],
    ["theory", "inference"],
    ["structures"],
    ["solvers"],
    ["the ground: base, errors, protocols"],
]
WIDTH, HEIGHT, GAP, LEFT = 520, 46, 10, 10
SIZE = 20
#: The steps of the way: number, room, and where in the room (0 to 1).
STEPS = [
    ("1", "simulation", 0.6),
    ("2", "lookahead", 0.6),
    ("3", "structures", 0.6),
    ("", "lookahead", 0.74),
    ("", "simulation", 0.74),
    ("4", "worlds", 0.88),
    ("5", "simulation", 0.9),
]


def boxes() -> dict[str, tuple[float, float, float]]:
    """Return left end, top and width of each room."""
    places = {}
    for row, rooms in enumerate(LAYERS):
        width = (WIDTH - GAP * (len(rooms) - 1)) / len(rooms)
        for number, room in enumerate(rooms):
            places[room] = (LEFT + number * (width + GAP), GAP + row * (HEIGHT + GAP), width)
    return places


def draw() -> str:
    """Return the picture."""
    places = boxes()
    height = GAP + len(LAYERS) * (HEIGHT + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * LEFT} {height}" '
        f'font-family="sans-serif" font-size="{SIZE}">',
        "<title>The layers of structured-bandits, with the way of one decision</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for room, (left, top, width) in places.items():
        small = SIZE if len(room) < 20 else 14
        parts.append(
            f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{HEIGHT}" rx="6" '
            'fill="#e8eef5" stroke="#5b7ba0"/>'
            f'<text x="{left + 12:g}" y="{top + 0.66 * HEIGHT:g}" font-size="{small}" '
            f'fill="#1c2b3a">{html.escape(room)}</text>'
        )
    points = []
    for _, room, share in STEPS:
        left, top, width = places[room]
        points.append((left + share * width, top + HEIGHT / 2))
    line = " ".join(f"{x:g},{y:g}" for x, y in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#c0392b" stroke-width="2.5"/>')
    for (number, _, _), (x, y) in zip(STEPS, points, strict=True):
        if number:
            parts.append(
                f'<circle cx="{x:g}" cy="{y:g}" r="13" fill="#c0392b"/>'
                f'<text x="{x:g}" y="{y + 6:g}" text-anchor="middle" font-size="17" '
                f'fill="#ffffff">{number}</text>'
            )
        else:
            parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5" fill="#c0392b"/>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_name("layers.svg").write_text(draw(), encoding="utf-8")
