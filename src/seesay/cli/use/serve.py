"""`seesay serve`: the library as a web page."""

from pathlib import Path
from typing import Annotated

from seesay.cli import light
from seesay.cli.options import PathOrAddress, Place, Precision
from seesay.system import ranges
from seesay.system.remote import as_path


def serve(
    folders: Annotated[
        list[PathOrAddress] | None,
        light.Argument(parser=as_path, metavar="[FOLDER…]", help="Further folders to index."),
    ] = None,
    host: Annotated[
        str, light.Option(metavar="ADDRESS", help="Where to listen. 0.0.0.0 lets others in; they need the token.")
    ] = "127.0.0.1",
    port: Annotated[int, light.Option(min=0, max=65535, metavar="N", help="The port; 0 takes a free one.")] = 8765,
    names: Annotated[
        list[str] | None,
        light.Option("--name", metavar="NAME", help="A host name by which others reach this machine. Repeatable."),
    ] = None,
    token: Annotated[
        str | None,
        light.Option(
            metavar="TOKEN", envvar="SEESAY_TOKEN", show_envvar=False,
            help="The token that visitors need. Default: SEESAY_TOKEN, or a random one if others can reach the page. "
            "Others on this machine can read what is typed here.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, light.Option(metavar="FILE", help="Read the token from the first line of a file.")
    ] = None,
    every: Annotated[
        float,
        light.Option(
            callback=ranges.require_pause, metavar="SECONDS",
            help="How often to look for new photos; 0: only when asked.",
        ),
    ] = 300,
    captioner: Annotated[
        str | None,
        light.Option("--captioner", metavar="WEIGHTS", help="Weights that write captions. Default: mrnn."),
    ] = None,
    browse: Annotated[bool, light.Option("--open", help="Open the page in the browser.")] = False,
    precision: Precision = None,
    library: Place = None,
) -> None:  # fmt: skip
    """Serve the library as a web page: search as you type, and see why a photo was found. Ctrl-C ends it.

    The page works offline. Only this machine can reach it, unless --host says otherwise.

    \b
    Examples:
        seesay serve
        seesay serve ~/Pictures --open
        seesay serve --host 0.0.0.0 --name photos.local
    """
    from seesay.library.indexing.places import resolve_folder
    from seesay.library.library import Library
    from seesay.verbs.loading import require_weights
    from seesay.web.access import Access, is_loopback, read_token
    from seesay.web.server import serve as run

    if captioner is not None:
        require_weights(captioner)
    access = Access.for_host(host, names=names or (), token=read_token(token_file) if token_file else token)
    paths = [resolve_folder(folder) for folder in folders or ()]

    def on_ready(address: str) -> None:
        light.echo(address)
        if not is_loopback(host):
            light.echo(
                "seesay: whoever has this address sees your photos, and what is sent is not encrypted; "
                "outside your own network put a server with HTTPS in front",
                err=True,
            )
        light.echo("seesay: Ctrl-C ends it", err=True)
        if browse:
            import webbrowser

            webbrowser.open(address)

    with Library(library, precision=precision) as opened:
        run(opened, access, port, folders=paths, every=every, captioner=captioner, on_ready=on_ready)
