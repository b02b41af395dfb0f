"""Batches for machine learning: NumPy, PyTorch and JAX.

from colonnade import ml

batches = ml.Batches(df, ["pt", "eta"], target="is_signal", batch_size=4096)
train, validation = batches.split(0.8)
for features, target, weight, entry in train: ...
"""

from .batches import Batch, Batches
from .rows import Jagged

__all__ = ["Batch", "Batches", "Jagged"]
