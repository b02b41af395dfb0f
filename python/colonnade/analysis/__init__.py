"""Small analyses that the examples and the demo share."""
