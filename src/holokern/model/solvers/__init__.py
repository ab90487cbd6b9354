"""Solving (K + αI) C = Y, and what is kept of it."""
