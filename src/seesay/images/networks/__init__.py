"""Image networks: each module registers its own (`seesay.images.backbones.register_network`)."""
