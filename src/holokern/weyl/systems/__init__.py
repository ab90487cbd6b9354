"""Classical systems: hypergeometric functions of Gauss, Appell and Lauricella, GKZ systems."""
