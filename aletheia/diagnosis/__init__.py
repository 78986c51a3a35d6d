"""What an abstention means, and later which cell a trace falls into."""
