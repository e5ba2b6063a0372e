"""The largest mean of residuals against weights that change no faster than the scores."""
