"""The machine code that reads tables, and the angles that it works with."""
