"""Repair of files and garbage collection in object stores."""
