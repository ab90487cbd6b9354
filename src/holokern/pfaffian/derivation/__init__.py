"""From annihilators to the matrices of a Pfaffian system."""
