"""Checks of a Pfaffian system that share no code with its derivation."""
