"""Thumbnails of photos."""

from io import BytesIO

from PIL import Image

SIDE = 320
"""Longest side in pixels. A JPEG that was decoded for the network is seldom smaller, so nothing is decoded twice."""
_QUALITY = 75


def make_thumbnail(image: Image.Image) -> bytes:
    """A small JPEG of an opened photo, without any metadata: not where it was taken, not by whom.

    Example:
        >>> small = Image.open(BytesIO(make_thumbnail(Image.new("RGB", (1600, 1200)))))
        >>> small.size, dict(small.getexif())
        ((320, 240), {})
    """
    small = image.copy()
    small.info.clear()  # Pillow writes what it finds there
    small.thumbnail((SIDE, SIDE), Image.Resampling.BICUBIC, reducing_gap=2.0)
    file = BytesIO()
    small.save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()
