"""How far a fitted calibration curve is from the diagonal: mean, percentiles, maximum, mean square."""
