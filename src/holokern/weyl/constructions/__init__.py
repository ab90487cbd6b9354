"""Annihilators, b-functions of polynomials, localisation and Weyl closure, operations on ideals, solutions."""
