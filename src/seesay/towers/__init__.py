"""Published image and text transformers ("towers") in a folder: what they are, before anything is loaded."""
