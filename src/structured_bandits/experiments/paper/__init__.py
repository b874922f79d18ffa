"""The experiments of the paper "A Novel Confidence-Based Algorithm for Structured Bandits"."""
