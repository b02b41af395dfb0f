"""Repair of files and garbage of object stores."""
