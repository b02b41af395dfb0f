"""The fields of data sets, and how to select them."""
