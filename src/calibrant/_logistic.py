"""Maximum likelihood logistic regression by Newton steps, which notices data that a line separates."""
