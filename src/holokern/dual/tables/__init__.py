"""Tables of dual activations over a range of deviations, sampled for all pairs of deviations at once."""
