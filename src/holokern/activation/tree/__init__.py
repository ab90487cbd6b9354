"""Expressions in u as trees: reading, printing, rewriting, SymPy."""
