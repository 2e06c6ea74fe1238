"""Whole requests, small enough for every person to be listed: random ones, their people, and the best noise for them."""
