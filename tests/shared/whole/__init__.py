"""Whole requests, small enough for every person to be listed: random ones, their people, the best noise for them."""
