"""What a panel is drawn from: a structure that is explored, a choice, and where links lead."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from structured_bandits.report.page import CONTROL
from structured_bandits.service.explorer.choice import Choice
from structured_bandits.service.explorer.explorer import Explorer
from structured_bandits.service.explorer.models import label_of
from structured_bandits.text_tables import NOT_PRINTABLE


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
        return tuple(map(clean, self.structure.arm_labels))

    def name(self, model: Any) -> str:
        """Return what a model is called."""
        return clean(label_of(self.structure, model))


def clean(text: str) -> str:
    """Return a text with a mark for each character that no page may hold."""
    return CONTROL.sub(NOT_PRINTABLE, text)
