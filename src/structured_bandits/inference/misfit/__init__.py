"""Evidence that a structure is wrong: an e-value that may be looked at after every pull."""
