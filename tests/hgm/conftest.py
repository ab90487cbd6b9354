"""Systems that several tests of transport use."""

import pytest

from holokern.activation import activation
from holokern.hgm.polar.tables import polar_table
from holokern.pfaffian import pfaffian


@pytest.fixture(scope="session")
def polar():
    """A function from the name of an activation to its Pfaffian system and polar table."""
    known = {}

    def find(name):
        if name not in known:
            sigma = activation(name)
            system = pfaffian(sigma)
            known[name] = system, polar_table(system, sigma.jump_order)
        return known[name]

    return find
