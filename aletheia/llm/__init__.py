"""The one way to a model."""
