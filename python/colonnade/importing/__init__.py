"""Imports of TTrees and tables, and copies of data sets."""
