"""The only place that draws random bits: exact integers of the laws of noise.

- keystream: uniform words, fresh for every call
- gaussian: rounded normal integers
- geometric, cube: the laws of pure ε, for the 1-norm and the ∞-norm
- reals: decisions about uniform reals of which few digits are drawn
- law: what a law of pure ε offers; combinations: tails and half-widths of sums of its noise
"""
