"""Calibration by training and by maps, side by side: small networks on images, several seeds, every error that matters."""
