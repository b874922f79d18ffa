"""What is noted of cells from plan to plan, and for how long their answers are certain.

Cells answer each question anew (`structures.questions`). A run asks them again and again while the
data of one arm grow, so it keeps what it found out in memory of its own, and asks besides for how many
pulls an answer holds whatever the rewards. These functions do that for each kind of cells; all may be
left out:

- `workspace(cells) -> work`: the memory of a run;
- `choose(cells, changed, data, level, box, work) -> arm`: the optimistic arm in the box of these data at
  this level, -1 if it is empty. Only the data of the arm `changed` are new since the last time, or those
  of SEVERAL arms, or of NO_ARM (`witnesses`). `box` is memory for the box;
- `certain_length(cells, arm, prospect, data, work)`: a number of pulls, from 1 to its limit, in which
  `arm`, which `choose` has just returned, is certain to stay the choice;
- `empty_length(cells, arm, prospect, data, work)`: for how many pulls of `arm` the box, which `choose`
  found empty, surely stays so;
- `arms_inside(cells, box, found, work)`: mark the best arms of the cells that meet the box, for which
  `choose` was just asked; is there such a cell?
- `competitive_length(cells, arm, found, prospect, data, work)`: a number of pulls of `arm`, from 1 to
  its limit, in which the arms that `arms_inside` marked surely hold: `arm` stays best in a cell that
  meets the box, and no arm that is not marked is best in one.

Cells with spans (`structures.spans.SpanCells`) have more, which the others do not ask for:

- `screen(cells, arm, data, level, margin, work)`: note how cells fit the data of all arms but `arm`;
- `keeps_choice(cells, arm, data, work, ahead)`: is the optimistic arm `arm` whatever happens ahead?
- `stays_competitive(cells, arm, found, data, work, ahead)`: do the marked arms hold whatever happens
  ahead? Both are monotone in the length of what is ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from structured_bandits.base.arrays import Flags
from structured_bandits.base.compilable import chosen
from structured_bandits.base.confidence import Box, Data, write_box
from structured_bandits.base.intervals import Intervals
from structured_bandits.lookahead.base import add_to
from structured_bandits.lookahead.prospect import Prospect
from structured_bandits.structures.questions import Cells
from structured_bandits.structures.spans import SpanCells


class Notes(NamedTuple):
    """The memory of cells of which nothing more is known than what they answer."""

    notes: Any  # those of the cells


def fresh_notes(cells: Cells) -> Any:
    """Return the memory that the cells themselves need."""
    return Notes(cells.fresh_notes())


def choose_anew(
    cells: Cells, changed: int, data: Data, level: Intervals, box: Box, work: Any
) -> int:
    """Ask the cells, whatever has changed."""
    write_box(data, level, box)
    return cells.optimistic_arm(box, work.notes)


def one_pull(cells: Cells, arm: int, prospect: Prospect, data: Data, work: Any) -> int:
    """Return 1: nothing more is certain."""
    return 1


def no_length(cells: Cells, arm: int, prospect: Prospect, data: Data, work: Any) -> float:
    """Return 0.0: an empty box is looked at again after each pull."""
    return 0.0


def ask_arms_inside(cells: Cells, box: Box, found: Flags, work: Any) -> bool:
    """Ask the cells."""
    return cells.best_arms_in(box, found, work.notes)


def one_competitive_pull(
    cells: Cells, arm: int, found: Flags, prospect: Prospect, data: Data, work: Any
) -> int:
    """Return 1: nothing more is certain."""
    return 1


def never_asked(*arguments: Any) -> Any:
    """Stand for what only cells with spans are asked."""
    raise TypeError("these cells have no spans")


class CellsLookahead(NamedTuple):
    """The functions for one kind of cells."""

    workspace: Callable[..., Any] = fresh_notes
    choose: Callable[..., int] = choose_anew
    certain_length: Callable[..., int] = one_pull
    empty_length: Callable[..., float] = no_length
    arms_inside: Callable[..., bool] = ask_arms_inside
    competitive_length: Callable[..., int] = one_competitive_pull
    screen: Callable[..., None] = never_asked
    keeps_choice: Callable[..., bool] = never_asked
    stays_competitive: Callable[..., bool] = never_asked


NONE = CellsLookahead()
#: By the exact class. Cells with spans of any other class have the lookahead of spans: it rests on what
#: `fits` and `span` promise, and on nothing else.
CELLS: dict[type, CellsLookahead] = {}


def register_cells(kind: type, lookahead: CellsLookahead) -> None:
    """Let cells of exactly this class have a lookahead; each class has one at most."""
    add_to(CELLS, kind, lookahead, "a kind of cells")


def found(kind: type) -> CellsLookahead:
    """Return the lookahead of a class of cells."""
    if kind not in CELLS and issubclass(kind, SpanCells):
        return CELLS[SpanCells]
    return CELLS.get(kind, NONE)


workspace = chosen(lambda kind: found(kind).workspace)
choose = chosen(lambda kind: found(kind).choose)
certain_length = chosen(lambda kind: found(kind).certain_length)
empty_length = chosen(lambda kind: found(kind).empty_length)
arms_inside = chosen(lambda kind: found(kind).arms_inside)
competitive_length = chosen(lambda kind: found(kind).competitive_length)
screen = chosen(lambda kind: found(kind).screen)
keeps_choice = chosen(lambda kind: found(kind).keeps_choice)
stays_competitive = chosen(lambda kind: found(kind).stays_competitive)
