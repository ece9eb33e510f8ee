"""Where along depth suites differ: the published gain of every block, by part of the network."""
