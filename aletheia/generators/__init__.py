"""What answers a question from evidence."""
