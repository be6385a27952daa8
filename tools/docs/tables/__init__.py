"""The tables of README and docs by name: the function `caption_metrics` writes the table `caption-metrics`."""

from collections.abc import Callable

from tables import (
    alignment,
    attention,
    captions,
    cold,
    eye,
    foundation,
    gallery,
    graphs,
    grown,
    hmlstm,
    identify,
    library,
    papers,
    reliability,
    scale,
    starts,
    towers,
)

PAGES = (
    foundation,
    captions,
    alignment,
    hmlstm,
    attention,
    identify,
    library,
    cold,
    papers,
    reliability,
    scale,
    grown,
    eye,
    towers,
    gallery,
    starts,
    graphs,
)
TABLES: dict[str, Callable[[], str]] = {
    write.__name__.replace("_", "-"): write for page in PAGES for write in page.TABLES
}
