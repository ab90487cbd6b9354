"""The HGM in statistics: normalising constants, probabilities and fits."""
