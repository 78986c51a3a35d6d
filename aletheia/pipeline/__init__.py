"""Use cases that join the pure middle with the world."""
