"""From folders of photos to what the library keeps of them."""
