"""The command `structured-bandits`."""
