"""The methods that solve a Pfaffian system, the paper's baseline, and the registration of all methods."""
