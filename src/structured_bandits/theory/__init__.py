"""What can be said before a single arm is pulled: gaps, hardness, elimination, classes and bounds."""
