"""Planning ahead: what more pulls can change, and what surely stays as it is."""
