"""Paths of straight lines in the coordinates of any Pfaffian system, and series at singular points."""
