"""Could it be chance? Resampling, the tests that metrics bring along, intervals, sequential tests."""
