"""The paper's experiments, with the paper's own numbers as data."""

from holokern.paper.chart import Chart, Series
from holokern.paper.experiments import EXPERIMENTS, check_names, machine, run_experiments
from holokern.paper.findings import Findings, finished, watching
from holokern.paper.problem import Problem
from holokern.paper.table import WIDTH, Cell, Json, Table, format_cell

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
