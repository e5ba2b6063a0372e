"""Error of a calibration map fitted to the very rows it is measured on."""
