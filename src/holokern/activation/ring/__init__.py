"""The exact side of an activation: pieces between breaks, as elements of a differential ring."""
