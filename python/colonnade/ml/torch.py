"""For PyTorch: a data set for its DataLoader, and nested tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

if TYPE_CHECKING:
    from .batches import Batch, Batches
    from .rows import Jagged

__all__ = ["BatchDataset", "nested"]


class BatchDataset(IterableDataset):  # type: ignore[misc]
    """Batches for `DataLoader(dataset, batch_size=None)`, shared among its workers."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        if worker is None:
            return iter(self._batches)
        share = self._batches.shared_batches(worker.id, worker.num_workers)
        self._batches.set_epoch(self._batches.epoch + 1)  # of workers that stay for the next epoch
        return share

    def __len__(self) -> int:
        return len(self._batches)

    def set_epoch(self, epoch: int) -> None:
        """See `Batches.set_epoch`; with workers, it must be called before each epoch."""
        self._batches.set_epoch(epoch)


def nested(lists: Jagged) -> Any:
    """Return lists as a nested tensor with the layout `torch.jagged`."""
    values, offsets = torch.from_numpy(lists.values.copy()), torch.from_numpy(lists.offsets)
    return torch.nested.nested_tensor_from_jagged(values, offsets)
