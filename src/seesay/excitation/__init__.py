"""Excitation backprop in torch: which neurons below have made a neuron win, down to words and cells of an image."""
