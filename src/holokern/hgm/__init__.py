"""Carrying the vector F of a Pfaffian system along paths."""
