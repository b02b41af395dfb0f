"""Data sets as they are read: opening, arrays, steps, export."""
