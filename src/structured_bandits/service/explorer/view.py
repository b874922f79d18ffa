"""What a panel is drawn from: a structure that is explored, a choice, and where links lead."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import without_controls
from structured_bandits.service.explorer.choice import Choice
from structured_bandits.service.explorer.explorer import Explorer
from structured_bandits.service.explorer.models import label_of
from structured_bandits.service.rendering import rendered

with needs("The service", extra="serve"):
    from markupsafe import Markup

LONGEST_NAME = 80  # characters


class Links(Protocol):
    """Where the links of a page lead; None where there is nothing to go to."""

    def truth(self, model: Any) -> str | None:
        """Return the address of the page with another truth."""

    def other(self, model: Any) -> str | None:
        """Return the address of the page that compares the truth with this model."""

    def rows(self, first: int) -> str | None:
        """Return the address of the page whose map begins with this model."""


class View(NamedTuple):
    """All that a panel is drawn from."""

    explorer: Explorer
    choice: Choice
    links: Links

    @property
    def structure(self) -> Any:
        """The structure."""
        return self.explorer.structure

    @property
    def labels(self) -> tuple[str, ...]:
        """What the arms are called."""
        return tuple(map(shortened, self.structure.arm_labels))

    def name(self, model: Any) -> str:
        """Return what a model is called."""
        return shortened(label_of(self.structure, model))


def shortened(name: str) -> str:
    """Return a name that fits a sentence; of a long one both ends stay, as either may tell it apart.

    >>> len(shortened("a" * 200)), shortened("a short one")
    (80, 'a short one')
    """
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 21]}…{name[-20:]}"


def filled(template: str, **context: Any) -> Markup:
    """Return a template that is filled in; whatever names hold, no control character gets through."""
    return Markup(without_controls(rendered(f"explorer/{template}", **context)))
