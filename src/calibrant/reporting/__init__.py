"""Pages to open from disk without a network: the report (`building`), a timeline of a monitor, and the page of `calibrant run`."""
