"""What pulls can tell: the truth, the models confused with it, and the cheapest way to refute them."""
