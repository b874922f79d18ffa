"""What is known: sets of candidate models, as unions of cells in each of which one arm is best."""
