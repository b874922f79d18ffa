"""Draw docs/guides/explore.png: the explorer of the shop's table, as a browser shows it.

PYTHONPATH=tests python tools/explorer_picture.py
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from support.browser import Window
from support.explorer_cases import SHOP
from support.serving import serving

from structured_bandits.service.ui.explorer.command import explorer_app

PICTURE = Path(__file__).parent.parent / "docs" / "guides" / "explore.png"
ADDRESS = "/?truth=1&other=0&horizon=50000&arm=0&mean=0.09"


def main() -> None:
    with serving(explorer_app(SHOP, "types.csv")) as url, Window(1280) as window:
        window.goto(url + ADDRESS)
        window.look(PICTURE)
    picture = Image.open(PICTURE).convert("RGB")
    few_colours = picture.quantize(96, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few_colours.save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
