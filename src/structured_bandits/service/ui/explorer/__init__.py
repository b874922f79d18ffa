"""The explorer: a page on a structure, on which one chooses the truth and sees what follows."""
