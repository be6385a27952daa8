"""Pictures for people: overlays, sheets, maps, trees, plots."""
