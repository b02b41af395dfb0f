"""Data sets as they are written: by entries, arrays or several threads."""
