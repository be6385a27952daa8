"""Make the sample photos of `seesay demo` from the free ones that scikit-image carries: smaller, as JPEG, no metadata.

    pip install scikit-image && python tools/docs/make_samples.py

Where they come from and why they are free stands in src/seesay/samples/LICENCES.md.
"""

from pathlib import Path

import skimage
from PIL import Image

import seesay

CARRIED = Path(skimage.__file__).parent / "data"
SAMPLES = Path(__file__).parents[2] / "src/seesay/samples"
PHOTOS = {
    "astronaut": "astronaut.png",
    "bricks": "brick.png",
    "cat": "chelsea.png",
    "coffee": "coffee.png",
    "coins": "coins.png",
    "galaxies": "hubble_deep_field.jpg",
    "photographer": "camera.png",
    "rocket": "rocket.jpg",
}


def main() -> None:
    for name, file in PHOTOS.items():
        photo = seesay.open_image(CARRIED / file)
        photo.thumbnail((640, 640), Image.Resampling.LANCZOS)
        photo.save(SAMPLES / f"{name}.jpg", quality=82, optimize=True, progressive=True)


if __name__ == "__main__":
    main()
