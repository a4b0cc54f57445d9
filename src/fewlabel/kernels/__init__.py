"""Numerical kernels in Numba and NumPy: arrays in, arrays out; no estimators, and no file imports another."""
