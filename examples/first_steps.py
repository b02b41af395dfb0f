"""The first Python example of the README: arrays are written and read back."""

import awkward as ak
import numpy as np

import colonnade

with colonnade.create("events.root", "Events", compression="zstd:5") as writer:
    writer.extend({"id": np.arange(1000), "pt": ak.Array([[40.0, 20.0], []] * 500)})

events = colonnade.open("events.root")
print(events.num_entries, events.field_names)
arrays = events.arrays(["pt"])
print("sum of pt:", ak.sum(arrays.pt))
assert ak.sum(arrays.pt) == 30000
