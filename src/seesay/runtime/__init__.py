"""Using trained weights without torch: graphs in ONNX Runtime, everything around them in NumPy."""
