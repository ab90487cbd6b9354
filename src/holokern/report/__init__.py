"""Plots and self-contained HTML pages."""

from typing import TYPE_CHECKING

from holokern.later import later
from holokern.report.page import html_page, html_table

if TYPE_CHECKING:
    from holokern.report.activation_page import page_about
    from holokern.report.paper_page import paper_data, paper_files, write_files

__all__ = ["html_page", "html_table", "page_about", "paper_data", "paper_files", "write_files"]

# pages about activations import networks; the processes that measure methods do without
__getattr__ = later(
    __name__,
    {
        "page_about": "holokern.report.activation_page",
        **dict.fromkeys(("paper_data", "paper_files", "write_files"), "holokern.report.paper_page"),
    },
)
