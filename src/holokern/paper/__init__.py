"""The paper's experiments, with the paper's own numbers as data."""

from holokern.paper.experiments import EXPERIMENTS, check_names, machine, run_experiments
from holokern.paper.problem import Problem
from holokern.paper.results import WIDTH, Cell, Chart, Findings, Json, Series, Table, finished, format_cell, watching

__all__ = [
    "EXPERIMENTS",
    "WIDTH",
    "Cell",
    "Chart",
    "Findings",
    "Json",
    "Problem",
    "Series",
    "Table",
    "check_names",
    "finished",
    "format_cell",
    "machine",
    "run_experiments",
    "watching",
]
