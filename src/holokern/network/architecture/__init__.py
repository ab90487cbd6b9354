"""How any composition of layers becomes kernel matrices."""
