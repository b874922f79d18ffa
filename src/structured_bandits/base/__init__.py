"""What every other package may use, and what uses none of them: checks, records, files, intervals."""
