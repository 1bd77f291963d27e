"""Networks of features: which weights are pulled together, and which apart. Knows neither the learners nor spaCy."""
