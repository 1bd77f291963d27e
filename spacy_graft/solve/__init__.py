"""The optimum over the active features: losses, penalties, proximal Newton steps."""
