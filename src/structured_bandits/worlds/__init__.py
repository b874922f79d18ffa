"""Worlds: where rewards come from. A block of pulls is drawn at once, as its sum, exactly."""
