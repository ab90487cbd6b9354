"""The paper's experiments, with the paper's own numbers as data."""

from holokern.paper.chart import Chart, Series
from holokern.paper.experiments import EXPERIMENTS, run_experiments
from holokern.paper.findings import Findings
from holokern.paper.problem import Problem
from holokern.paper.table import Table

__all__ = ["EXPERIMENTS", "Chart", "Findings", "Problem", "Series", "Table", "run_experiments"]
