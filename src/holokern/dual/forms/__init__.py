"""Closed forms in distances, which serve all pairs of points in place of tables."""
