"""`python -m structured_bandits` is the command `structured-bandits`."""

from __future__ import annotations

import sys

from structured_bandits.base.extras import needs
from structured_bandits.errors import MissingExtraError


def main() -> None:
    """Run the command; without the package that it is made with, say how to install it."""
    try:
        with needs("The command structured-bandits", extra="cli"):
            from structured_bandits.cli.commands import main as command
    except MissingExtraError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    command(prog_name="structured-bandits")


if __name__ == "__main__":
    main()
