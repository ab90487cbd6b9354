"""Scalar ODEs of a Pfaffian system on a curve: exponents and rational solutions."""
