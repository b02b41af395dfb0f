"""What fields a data set has, and how they are asked for."""
