"""Training and inference on one accelerator's memory, and inference that does not overflow its cache.

`colocation.serving` decides which requests a continuously batching inference engine admits, and simulates such an
engine; nothing here needs PyTorch or an accelerator yet.
"""
