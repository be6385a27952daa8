"""`seesay doctor`: is everything there, and unchanged?"""

import json
from typing import TYPE_CHECKING

from seesay.cli import light
from seesay.cli.options import AsJson, Place
from seesay.system.names import printable

if TYPE_CHECKING:
    from seesay.cli.health import Health


def doctor(library: Place = None, as_json: AsJson = False) -> None:
    """Check the installation: versions, weights, library, caches and optional packages.

    Whatever is missing or changed is named with the command that fixes it. Nothing is written. The exit code is 1 if
    there is a problem; a missing optional package does not count.

    \b
    Examples:
        seesay doctor
        seesay doctor --json
    """
    from seesay.cli.health import examine

    found = examine(library)
    if as_json:
        light.echo(json.dumps(found.to_dict(), indent=2))
    else:
        _print(found)
    if found.problems:
        raise light.Exit(1)


def _print(found: "Health") -> None:
    for name, number in found.versions.items():
        light.echo(f"version   {name} {number or 'missing'}")
    for weights in found.weights:
        light.echo(f"weights   {weights.name}: {weights.state}, {weights.bytes / 1e6:.1f} MB, {weights.digest[:12]}")
    photos = f"{found.library.photos:,} photos" if found.library.exists else "nothing indexed yet"
    light.echo(f"library   {printable(found.library.place)}: {photos}")
    for cache in found.caches:
        light.echo(f"cache     {printable(cache.folder)}: {cache.bytes / 1e6:,.1f} MB in {cache.files:,} files")
    light.echo(f"data      {found.data or 'SEESAY_DATA is not set: collections are named by their paths'}")
    for extra in found.extras:
        state = f"needs {', '.join(extra.missing)}; {extra.install}" if extra.missing else "installed"
        light.echo(f"optional  {extra.name}: {state}")
    for problem in found.problems:
        light.echo(f"seesay: {problem}", err=True)
    if not found.problems:
        light.echo("everything is there")
