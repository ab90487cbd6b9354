"""Activations without a closed form in machine code: series of correlations, and polynomials of chords."""
