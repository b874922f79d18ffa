"""Reports for people: text for the terminal, plain data for other programs."""
