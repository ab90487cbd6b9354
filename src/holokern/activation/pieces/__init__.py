"""σ between its breaks: balls of complex arguments, bounds of growth, sums of exponentials, singular sides."""
