"""The ground floor, which knows no activation: Gauss rules, panels, Chebyshev tables, angles, machine code."""
