"""Pages are self-contained, escape what they are given and keep every cell."""

from __future__ import annotations

from html.parser import HTMLParser

from holokern.paper.results import Table
from holokern.report.page import html_page, html_table

TABLE = Table(
    "A <b> & c", ("case", "value", "paper's"), (("x < y", 0.00012345, None), ("ok", 3, True)), ("note & <i>",)
)


class Cells(HTMLParser):
    """Collects cell texts and every address that the page names."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.links: list[str] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open = tag in {"td", "th"}
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        if self.open:
            self.cells.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.open = False


def test_cells_and_no_address() -> None:
    page = html_page("T & t", ["One < two."], [TABLE])
    found = Cells()
    found.feed(page)
    assert found.cells == ["case", "value", "paper's", "x < y", "0.000123", "-", "ok", "3", "yes"]
    assert found.links == []
    assert "://" not in page
    assert "<b>" not in page
    assert "note &amp; &lt;i&gt;" in page


def test_text_is_aligned() -> None:
    lines = TABLE.text().splitlines()
    assert lines[0] == "A <b> & c"
    assert lines[1].split() == ["case", "value", "paper's"]
    assert lines[-1].strip() == "note & <i>"
    assert all(line == line.rstrip() for line in lines)


def test_text_is_as_wide_as_the_terminal() -> None:
    columns = ("method", *(f"a long heading number {i}" for i in range(6)))
    wide = Table("Title " * 20, columns, (("gauss_hermite", *(1e-3,) * 6), ("hgm", *(7.0,) * 6)), ("note " * 50,))
    for width in (40, 60, 100, 200):
        lines = wide.text(width).splitlines()
        assert max(map(len, lines)) <= width
        words = " ".join(lines).split()
        assert all(words.count(str(i)) == 1 for i in range(6))
        assert words.count("0.001") == 6
    # blocks of columns begin with the first one again
    assert wide.text(40).count("gauss_hermite") > wide.text(200).count("gauss_hermite") == 1


def test_formulas_of_a_table_are_drawn_and_keep_their_text_for_readers() -> None:
    table = Table("Loci", ("case", "locus"), (("relu", "S11, S12^2 - S11*S22"),), formulas=("locus",))
    page = html_table(table)
    assert "S12^2" not in page
    assert r'aria-label="\Sigma_{11},"' in page
    assert page.count('<svg class="tex"') >= 2 and "<defs>" in page
