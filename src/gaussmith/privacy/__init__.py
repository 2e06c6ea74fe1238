"""What is promised: guarantees, neighbours, and how guarantees convert and compose."""
