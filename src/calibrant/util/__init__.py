"""What every package uses: blocks and threads, compiled kernels, exact sums, argument checks, results, files."""
