"""One variable: exact division, closure and Bernstein–Sato polynomials."""
