"""Plots and self-contained HTML pages."""

from holokern.report.page import html_page, html_table

__all__ = ["html_page", "html_table"]
