"""The decision service: agents behind HTTP, with a log that is the truth."""
