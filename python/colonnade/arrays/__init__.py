"""Conversion between columns and users' arrays: Awkward, NumPy, Arrow and pandas."""
