"""Ready uses of the HGM in statistics."""
