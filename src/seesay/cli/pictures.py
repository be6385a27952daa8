"""What commands share that look through many images and draw: where they look, and into what they draw."""

from pathlib import Path


def require_drawable(output: Path) -> None:
    """Refuse a file that no picture can be drawn into, before anything is computed."""
    from seesay.drawing.sheets import FILE_TYPES
    from seesay.errors import SeesayError

    if output.suffix.lower() not in FILE_TYPES:
        raise SeesayError(f"cannot draw into {output}", allowed=FILE_TYPES, hint=f"-o {output.with_suffix('.png')}")


def find_pictures(within: str, images: Path | None, split: str) -> dict[Path, tuple[str, str]]:
    """The pictures to look among, each with its name and, where there are any, its first sentence."""
    from seesay import data
    from seesay.errors import SeesayError
    from seesay.verbs.inputs import find_photos

    try:
        collection = data.load(within, images=images)
    except data.UnreadableError:
        raise
    except SeesayError:
        folder = Path(within)
        if not folder.is_dir() or images is not None:
            raise
        photos, _ = find_photos([folder])
        if not photos:
            raise
        return {photo: (str(photo.relative_to(folder)), "") for photo in photos}
    collection = collection if split == "all" else collection.split(split)
    found = [(item.image, item.name, item.sentences[0].rstrip(" .")) for item in collection.items if item.image]
    return {image: (name, sentence) for image, name, sentence in found}
