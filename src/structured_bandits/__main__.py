"""`python -m structured_bandits` is the command `structured-bandits`."""

from structured_bandits.cli import main

main(prog_name="structured-bandits")
