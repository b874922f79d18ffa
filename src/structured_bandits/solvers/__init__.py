"""Linear, quadratic and cone programs: the only calls of solvers."""
