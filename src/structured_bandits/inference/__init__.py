"""What the rewards say about a structure."""
