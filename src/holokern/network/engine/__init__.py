"""How kernel matrices are filled: layer by layer, by the table of the whole network, or pair by pair."""
