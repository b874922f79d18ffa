"""Draw docs/guides/production.png: the dashboard of the guide's own files after two minutes of traffic.

PYTHONPATH=tests python tools/production_picture.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from PIL import Image
from support.browser import Window
from support.typed import Typist

GUIDES = Path(__file__).parent.parent / "docs" / "guides"
PICTURE = GUIDES / "production.png"
SECONDS = 120
PATIENCE = SECONDS + 60.0


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("types.csv", "shop.toml", "traffic.py"):
            shutil.copy(GUIDES / "production" / file, folder)
        with Typist(folder, PATIENCE) as typist, Window(1280) as window:
            typist.type("structured-bandits serve shop.toml")
            typist.type(f"python traffic.py {SECONDS}")
            window.goto(f"{typist.url}/experiments/shop")
            seen = window.look(PICTURE)
            assert not seen.console, seen.console
    picture = Image.open(PICTURE).convert("RGB")
    few_colours = picture.quantize(96, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few_colours.save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes; {typist.said.strip()}")


if __name__ == "__main__":
    main()
