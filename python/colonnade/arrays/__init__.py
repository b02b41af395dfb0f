"""Arrays as users have them: Awkward, NumPy, Arrow and pandas, out of columns and into columns."""
