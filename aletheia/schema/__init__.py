"""The nouns: frozen values that flow between the stages."""
