"""One curve fitted to one View: the rate of events expected at each score."""
