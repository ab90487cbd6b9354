"""The rational Weyl algebra: operators with rational functions as coefficients, their ideals and bases."""
