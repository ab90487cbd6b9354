"""Activations: names, expressions and ODEs become :class:`Activation` objects."""
