"""Reading data sets: opening, arrays, steps, export."""
