"""Errors without bins: smoothed just enough, or seen by the smoothest possible weights."""
