"""`python -m colonnade`: the command line."""

from .cli import main

main()
