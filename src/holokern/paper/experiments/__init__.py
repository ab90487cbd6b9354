"""One module for each experiment of the paper, and what runs them."""

from holokern.paper.experiments.run import EXPERIMENTS, check_names, machine, run_experiments

__all__ = ["EXPERIMENTS", "check_names", "machine", "run_experiments"]
