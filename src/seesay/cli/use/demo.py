"""`seesay demo`: what seesay does, on the sample photos."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.options import Overwrite
from seesay.cli.pictures import require_drawable

if TYPE_CHECKING:
    from seesay.library.library import Library
    from seesay.library.types import Photo
    from seesay.verbs.photos import PhotoModels

QUERIES = ("a cup of coffee on a table", "a close up of a cat", "espresso")
CAPTIONED = ("cat.jpg", "coffee.jpg", "photographer.jpg")
EXPLAINED = ("photographer.jpg", "a man with a camera on a tripod")


def demo(
    serve: Annotated[bool, light.Option("--serve", help="Serve the photos as a web page until Ctrl-C.")] = False,
    port: Annotated[int, light.Option(min=0, max=65535, metavar="N", help="The port of the web page.")] = 8765,
    output: Annotated[
        Path | None,
        light.Option("--output", "-o", metavar="FILE", help="Draw the regions of the words: PNG, JPEG or WebP."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Search, caption and explain the sample photos that come with seesay. Nothing is kept.

    \b
    Examples:
        seesay demo
        seesay demo --serve
    """
    from tempfile import TemporaryDirectory

    import seesay
    from seesay.cli.progress import progress_when_needed
    from seesay.library.library import Library
    from seesay.verbs.photos import PhotoModels

    if output is not None:
        require_drawable(output, overwrite=overwrite)
    samples = Path(seesay.__file__).parent / "samples"
    with TemporaryDirectory(prefix="seesay-demo-") as folder, Library(folder) as library:
        with progress_when_needed("indexing the sample photos", quiet=False) as on_progress:
            done = library.index(samples, on_progress=on_progress)
        light.echo(f"{done.n_found} sample photos in {samples}")
        models = PhotoModels(library)
        photos = {photo.path.name: photo for photo in library.latest(1000)}
        _search(library)
        _caption(models, photos)
        _explain(models, photos, output)
        if serve:
            _serve(library, port)
        else:
            light.echo(f"\nThe same as a web page: seesay demo --serve, then http://127.0.0.1:{port}/")


def _search(library: "Library") -> None:
    for query in QUERIES:
        light.echo(f'\n$ seesay search "{query}"')
        for result in library.search(query, top=2):
            score = f"{100 * result.score:3.0f} % {result.word:<8}" if result.word else f"{result.score:5.2f}"
            light.echo(f"{score}  {result.path.name}")


def _caption(models: "PhotoModels", photos: "dict[str, Photo]") -> None:
    light.echo(f"\n$ seesay caption {' '.join(CAPTIONED)}")
    for name in CAPTIONED:
        model, captions = models.captions(photos[name], 1)
        if model is None:
            light.echo("seesay: no weights that write captions are installed", err=True)
            return
        light.echo(f"{name}: {captions[0].text}")


def _explain(models: "PhotoModels", photos: "dict[str, Photo]", output: Path | None) -> None:
    name, sentence = EXPLAINED
    light.echo(f'\nThe regions of "{sentence}" in {name}:')
    words = [word for word in models.explain(photos[name], sentence) if word.heat is not None]
    for word in words:
        likely = "" if word.probability is None else f"{100 * word.probability:3.0f} %  "
        light.echo(f"{word.text:<8}  {likely}{word.place}")
    if output is not None:
        from seesay.drawing.overlay import draw_heat
        from seesay.drawing.sheets import Cell, draw_sheet, save_picture
        from seesay.images.io import open_image

        image = open_image(photos[name].path)
        cells = [Cell(draw_heat(image, word.heat), word.text) for word in words if word.heat is not None]
        save_picture(draw_sheet(cells, columns=len(cells), title=sentence), output)
        light.echo(f"seesay: drawn to {output}", err=True)


def _serve(library: "Library", port: int) -> None:
    from seesay.web.access import Access
    from seesay.web.server import serve

    def on_ready(address: str) -> None:
        light.echo(f"\n{address}")
        light.echo("seesay: Ctrl-C ends it", err=True)

    serve(library, Access.for_host("127.0.0.1"), port, on_ready=on_ready)
