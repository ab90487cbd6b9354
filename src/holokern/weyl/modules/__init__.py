"""Left ideals and what is made of them: restriction, integration, Fourier transforms, b-functions."""
