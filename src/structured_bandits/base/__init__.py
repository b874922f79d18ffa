"""The ground: what every package may need, and what needs none of them."""
