"""What a step of the engine takes: a roofline of the accelerator's published figures and the model's size.

Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009. A step
reads all weights once and each cached token once, at the memory's bandwidth; each token computed takes two floating
point operations a parameter (Kaplan et al., "Scaling laws for neural language models", 2020, section 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Seconds of a step.

    Attributes
    ----------
    step : float
        Of every step: reading the weights [s].
    token : float
        Of each token computed, of a prompt or new [s].
    cached : float
        Of each token in the cache that is attended to by a decoding request [s].
    """

    step: float
    token: float
    cached: float

    def seconds(self, computed: float, attended: float) -> float:
        """Return what one step takes [s]."""
        return max(self.step, self.token * computed) + self.cached * attended


def roofline(
    parameters: float, kv_bytes_per_token: float, bandwidth: float, operations: float, efficiency: float = 0.5
) -> Costs:
    """Return the costs of a dense transformer in 16 bits.

    Parameters
    ----------
    parameters : float
        Weights of the model.
    kv_bytes_per_token : float
        ``2 * layers * key-value heads * head size * 2`` [bytes].
    bandwidth : float
        Of the accelerator's memory [bytes/s].
    operations : float
        Of the accelerator, peak, in 16 bits [1/s].
    efficiency : float
        Share of the peak that large matrix products reach.

    Returns
    -------
    Costs
        Of one step.
    """
    return Costs(
        step=2 * parameters / bandwidth,
        token=2 * parameters / (operations * efficiency),
        cached=kv_bytes_per_token / bandwidth,
    )


A100_40G = roofline(13e9, 2 * 40 * 5120 * 2, 1.555e12, 312e12)
"""A model of Llama-2-13B's size (40 layers, 5120 wide) on an A100 with 40 GB (datasheet: 1,555 GB/s, 312 Tflop/s)."""
