"""Studies of papers, run again: each gives the published value, ours and the difference."""
