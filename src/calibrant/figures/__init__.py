"""Pictures: tidy data for each, and its drawing. matplotlib is loaded only when something is drawn."""
