"""Proved values: balls that contain k and k′."""
