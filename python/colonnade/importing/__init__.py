"""What comes from elsewhere: TTrees, and copies of data sets."""
