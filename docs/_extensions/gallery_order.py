"""The order of the gallery: examples that run come first, by their numbers; those that are only shown follow."""

from __future__ import annotations

from sphinx_gallery.sorting import FileNameSortKey

__all__ = ["RunFirst"]


class RunFirst(FileNameSortKey):
    """Sorts file names; ``plot_`` marks an example that runs."""

    def __call__(self, filename: str) -> tuple[bool, str]:
        """The key of a file."""
        return not filename.startswith("plot_"), filename
