"""Left Gröbner bases: F4 modulo primes, lifting, division, certificates, an independent checker."""
