"""Teachers: models that label texts without labels, which a smaller model then learns from."""
