"""From results to numbers, JSON, text and HTML."""
