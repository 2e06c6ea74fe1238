"""Plans and releases in plain words and tables, for a terminal, for a notebook and for the report."""
