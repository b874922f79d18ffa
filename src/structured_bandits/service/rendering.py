"""Templates and files of the pages: one environment in which all that is shown is escaped."""

from __future__ import annotations

from typing import Any

from structured_bandits.base.extras import needs

with needs("The service", extra="serve"):
    import jinja2
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles

PACKAGE = "structured_bandits.service"

environment = jinja2.Environment(
    loader=jinja2.PackageLoader(PACKAGE, "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,  # a misspelt name is an error, not a gap in a page
    trim_blocks=True,
    lstrip_blocks=True,
)


def rendered(template: str, **context: Any) -> str:
    """Return a template with these names filled in; texts are escaped, `Markup` is not."""
    return environment.get_template(template).render(context)


def static_files() -> Mount:
    """Return the route of the style sheet, scripts and pictures."""
    return Mount("/static", StaticFiles(packages=[(PACKAGE, "static")]), name="static")
