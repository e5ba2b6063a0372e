"""Is it still true today? Drift of scores, accuracy without labels, bets that may be looked at after every window, alarms."""
