"""When may one prediction be trusted? Abstention, thresholds with guarantees, costs, grades, foreign rows."""
