"""The Weyl algebra itself: operators, orders, reading and printing."""
