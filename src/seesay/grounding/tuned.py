"""The grounding settings of trained weights."""

from seesay.catalogue.weights import Trained, tuned_table
from seesay.settings.grounding import GroundingSettings


def grounding_of(model: Trained) -> GroundingSettings:
    """Those that dev has chosen for a model's weights, and the defaults where it has not."""
    table = tuned_table(model.weights, "grounding") if model.weights else None
    if table is None or model.weights is None:
        return GroundingSettings()
    return GroundingSettings.from_table(table, str(model.weights.folder / "config.json"))
