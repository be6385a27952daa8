"""Write the cards of the weights that ship again, from their config.json.

python tools/make_cards.py
"""

from seesay.catalogue.weights import PACKAGED, read_about
from seesay.models.card import write_card


def main() -> None:
    for path in sorted(PACKAGED.glob("*/config.json")):
        card = path.with_name("card.md")
        card.write_text(write_card(read_about(path.parent).about), encoding="utf-8")


if __name__ == "__main__":
    main()
