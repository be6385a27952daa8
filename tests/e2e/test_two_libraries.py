"""Two libraries at one address, one after the other: a browser never shows photos of the first for the second."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from PIL import Image

from seesay.library.library import Library
from seesay.web.access import Access
from seesay.web.server import running

MIDDLE = """async () => {
  const image = document.querySelector('main img[src*=thumbnail]');
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  canvas.getContext("2d").drawImage(image, 0, 0, 1, 1);
  return [...canvas.getContext("2d").getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""


def test_a_browser_never_shows_photos_of_the_library_before(
    chromium: Any, program: Callable[[Path], ModuleType], tmp_path: Path
) -> None:
    toy = program(Path(__file__).parents[1] / "library/toy.py")
    context = chromium.new_context()
    port, seen, addresses = 0, [], []
    for colour in ("red", "blue"):
        folder = tmp_path / colour / "photos"
        folder.mkdir(parents=True)
        Image.new("RGB", (48, 36), colour).save(folder / "photo.png")
        with Library(tmp_path / colour / "library", encoder=toy.ColourEncoder(), stages=()) as library:
            library.index(folder, workers=1)
            with running(library, Access.for_host("127.0.0.1"), port, prepare=False) as address:
                port = int(address.rstrip("/").rpartition(":")[2])
                page = context.new_page()
                page.goto(address)
                page.wait_for_selector("main img[src*=thumbnail]")
                seen.append(page.evaluate(MIDDLE))
                addresses.append(page.get_attribute("main img[src*=thumbnail]", "src"))
                if len(addresses) == 2:  # a page of the first library that was left open
                    assert page.request.get(address.rstrip("/") + addresses[0]).status == 409
                page.close()
    context.close()
    (red, *_), (*_, blue) = seen
    assert red > 200
    assert blue > 200
    assert addresses[0].startswith("/api/photos/1/")
    assert addresses[1].startswith("/api/photos/1/")
