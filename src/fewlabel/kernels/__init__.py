"""Numba and NumPy only: arrays in, arrays out. No estimator, no `y`, and no file that imports another."""
