"""Gaussmith: private sums, means, counts and histograms, with noise forged to the shape of the data."""
