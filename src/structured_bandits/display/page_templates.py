"""Templates of the pages: all that is shown is escaped and free of control characters."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import without_controls

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

GENERATOR = '<meta name="generator" content="structured-bandits">'
PACKAGE = "structured_bandits.display"


def rendered(template: str, **context: Any) -> str:
    """Return a template with these names filled in; texts are escaped, `html` is not."""
    return environment().get_template(template).render(context)


def html(text: str) -> Markup:
    """Return what is HTML already, to be shown as it is."""
    with needs("A page", extra="report"):
        from markupsafe import Markup

    return Markup(text)


@cache
def environment() -> jinja2.Environment:
    """Return what fills templates in; raises MissingExtraError where its package is missing."""
    with needs("A page", extra="report"):
        import jinja2

    def plain(value: Any) -> Any:
        return value if hasattr(value, "__html__") else without_controls(str(value))

    made = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE, "templates"),
        autoescape=True,
        finalize=plain,
        undefined=jinja2.StrictUndefined,  # a misspelt name is an error, not a gap in a page
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["generator"] = html(GENERATOR)
    style = files(PACKAGE).joinpath("page.css").read_text(encoding="utf-8")
    made.globals["style"] = html(style)
    return made
