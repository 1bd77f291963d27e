"""Fits: rounds of search and optimisation, the path, the certificate, reports and solutions."""
