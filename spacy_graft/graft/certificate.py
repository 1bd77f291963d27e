"""The certificate: a lower bound of the optimum over the whole space. Derived in ``docs/certificate.md``."""

from __future__ import annotations

import numpy as np

from ..solve.likelihood import Likelihood


def dual_value(
    likelihood: Likelihood,
    probabilities: np.ndarray,
    l1: float,
    ridge: float,
    peak: float,
    squared_excess: float,
    network: float,
) -> float:
    """Dual objective at the better of two points made from the model's probabilities.

    Point one is r = (1 - c) q + c p with c = min(1, C / peak): its gradient is c v, within every feature's penalty, so
    that D = Σ s H(r). With a ridge, r = p is feasible too, at the price of the penalty's conjugate:
    D = Σ s H(p) - Σ max(|v| / λ - C, 0)² / (4 β). A network wᵀ M w takes 2 M w from the gradients of its vertices, so
    that v stands for v - 2 M w, at the price of its own conjugate: c² wᵀ M w, or wᵀ M w.

    Parameters
    ----------
    likelihood : Likelihood
    probabilities : float64 (labels, documents)
        p, with intercepts that are optimal.
    l1, ridge : float
        C and β.
    peak : float
        max |v_ky| / λ_ky over the whole space, active pairs included.
    squared_excess : float
        Σ max(|v_ky| / λ_ky - C, 0)² over the whole space.
    network : float
        Σ_y wᵀ M w.
    """
    c = min(1.0, l1 / peak) if peak > 0.0 else 1.0
    value = likelihood.entropy((1.0 - c) * likelihood.targets + c * probabilities) - c**2 * network
    if ridge > 0.0:
        value = max(value, likelihood.entropy(probabilities) - squared_excess / (4.0 * ridge) - network)
    return value
