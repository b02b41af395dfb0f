"""Small analyses shared by the examples and the demo."""
