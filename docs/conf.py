"""The Sphinx site: `sphinx-build -W --keep-going -b html docs docs/_build/html`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import structured_bandits
from structured_bandits.policies.base import POLICIES

DOCS = Path(__file__).parent
ROOT = DOCS.parent

project = "structured-bandits"
author = "the authors of structured-bandits"
version = release = structured_bandits.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]  # myst_nb brings myst_parser
exclude_patterns = ["_build", "gallery", "parts"]  # folders without pages

myst_heading_anchors = 4  # pages link to each other's headings
nb_execution_mode = "off"  # outputs are stored; tests/test_notebooks.py checks them

html_theme = "furo"
html_title = f"structured-bandits {version}"
html_show_copyright = False
pygments_dark_style = "github-dark"  # the default underlines names of modules like links
html_static_path = ["_static"]
html_css_files = ["site.css"]

napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Flags", "Floats", "Ints")}  # said in api.md
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
default_role = "code"  # docstrings write `name`, not ``name``


def escape(text: str) -> str:
    """Return text in which stars, bars and underscores mean themselves, except inside backticks."""
    parts = re.split(r"(``?[^`]+``?)", text)
    parts[::2] = [re.sub(r"([*|_])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def plain_docstring(
    app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]
) -> None:
    """Let docstrings say A*_i, |x| and n_k, which reStructuredText would take for markup.

    Examples stay as they are. Of a property, napoleon takes "this: that" on the first line for a
    type; an empty comment, "..", becomes that line.
    """
    example = False
    for number, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[number] = escape(line)
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def list_policies(app: Any, page: str, source: list[str]) -> None:
    """Put every registered policy into the page of the API, so that none is forgotten."""
    entries = "\n".join(f".. autoclass:: {name}\n   :members: width\n" for name in POLICIES)
    source[0] = source[0].replace(".. EVERY REGISTERED POLICY (conf.py puts them here)\n", entries)


#: Files at the root that have a page on the site.
PAGES_OF = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}


def links_from_root(app: Any, path: Path, page: str, content: list[str]) -> None:
    """Let README and CHANGELOG, whose links start at the root, be included by pages in docs.

    Only what names a file is a link: code may have brackets and parentheses in a row, too.
    """

    def from_docs(link: re.Match[str]) -> str:
        target, anchor = link.groups(default="")
        if not (ROOT / target).exists():
            return link[0]
        return f"]({PAGES_OF.get(target) or os.path.relpath(ROOT / target, DOCS)}{anchor})"

    if (DOCS / path).resolve().parent == ROOT:
        content[0] = re.sub(r"\]\(([^)#:]+)(#[^)]*)?\)", from_docs, content[0])


#: Pages of the book *Notes*, which the search of the site leaves out.
NOTES = (
    "notes/benchmarks",
    "notes/errata",
    "notes/mathematics",
    "notes/lookahead",
    "notes/decisions",
    "design",
)


def leave_out_of_search(app: Any, env: Any) -> None:
    """Let a search find what users need; who looks for a proof finds it by the navigation."""
    for page in NOTES:
        env.metadata[page]["nosearch"] = ""


def setup(app: Any) -> None:
    """Put the hook for docstrings before napoleon's, which writes markup of its own."""
    app.connect("env-updated", leave_out_of_search)
    app.connect("source-read", list_policies)
    app.connect("include-read", links_from_root)
    app.connect("autodoc-process-docstring", plain_docstring, priority=400)
