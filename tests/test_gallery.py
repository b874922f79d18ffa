"""The gallery shows every figure that is drawn for it, with the code that draws it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "gallery.md").read_text()


def test_every_figure_is_shown_once() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(gallery/([\w-]+\.png)\)", PAGE)
    assert sorted(shown) == sorted(path.name for path in (DOCS / "gallery").glob("*.png"))


def test_every_figure_stands_below_the_line_that_draws_it() -> None:
    drawing = (DOCS / "draw_gallery.py").read_text()
    pairs = re.findall(
        r"^```py\n(.+)\n```\n\n!\[[^\]]+\]\(gallery/([\w-]+)\.png\)", PAGE, re.MULTILINE
    )
    assert len(pairs) == PAGE.count("](gallery/")
    for line, name in pairs:
        assert f'"{name}": {line},\n' in drawing
