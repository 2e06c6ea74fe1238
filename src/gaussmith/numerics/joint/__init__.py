"""Joint noise for several questions at once: what one person adds to each of them, its strategy and its sensitivity."""
