"""Draw the pictures of README and docs from freely licensed photos that scikit-image and scikit-learn carry.

    pip install scikit-image scikit-learn && python tools/docs/make_pictures.py

Sources: astronaut (NASA, public domain), chelsea (Stéfan van der Walt, CC0), coffee (Rachel Michetti, CC0), rocket
(SpaceX, CC0) from scikit-image; china (danielbuechele, CC BY 2.0) and flower (vultilion, CC BY 2.0) from scikit-learn.
"""

from pathlib import Path

import matplotlib as mpl
import skimage
import sklearn

import seesay

mpl.use("Agg")
import matplotlib.pyplot as plt

SKIMAGE, SKLEARN = Path(skimage.__file__).parent / "data", Path(sklearn.__file__).parent / "datasets/images"
PHOTOS = {
    SKIMAGE / "chelsea.png": "a close up of a cat",
    SKIMAGE / "coffee.png": "a cup of coffee on a table",
    SKIMAGE / "rocket.jpg": "a rocket stands under the sky",
    SKIMAGE / "astronaut.png": "a smiling woman in an orange suit",
    SKLEARN / "china.jpg": "an old building with a red roof",
    SKLEARN / "flower.jpg": "a large red flower",
}
PICTURES = Path(__file__).parents[2] / "docs/pictures"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    cat = seesay.open_image(SKIMAGE / "chelsea.png")
    cat.save(PICTURES / "cat.jpg", quality=85)
    found = seesay.match(list(PHOTOS), list(PHOTOS.values()))
    figure, axes = plt.subplots(2, len(PHOTOS), figsize=(12.6, 3.3), height_ratios=(2, 1))
    for column, photo in enumerate(PHOTOS):
        image = seesay.open_image(photo)
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        axes[0, column].imshow(image.crop((left, top, left + side, top + side)).resize((320, 320)), aspect="auto")
        axes[0, column].axis("off")
        best = found.ranked(column)[2::-1]  # the best is drawn at the top
        bars = axes[1, column].barh(range(3), [share for _, _, share in best], color="#d9e2ec")
        bars[-1].set_color("#9fc5a7" if best[-1][0] == PHOTOS[photo] else "#e4b7b0")
        for row, (sentence, _, _) in enumerate(best):
            axes[1, column].text(0.02, row, sentence, va="center", fontsize=7.8)
        axes[1, column].set_xlim(0, 1)
        axes[1, column].axis("off")
    figure.subplots_adjust(left=0.004, right=0.996, top=0.99, bottom=0.01, wspace=0.05, hspace=0.04)
    figure.savefig(PICTURES / "match.png", dpi=110)


if __name__ == "__main__":
    main()
