"""The paper's experiments, with the paper's own numbers as data."""

from holokern.paper.table import Table

__all__ = ["Table"]
