#!/usr/bin/env python3
"""Reads a file of the parallel write with uproot, to compare with what its writer was given: read_random.py FILE."""

from __future__ import annotations

import json
import sys

import awkward as ak
import numpy as np
import uproot

arrays = uproot.open(sys.argv[1])["random"].arrays(["eventId", "particles"])
particles = ak.to_numpy(ak.flatten(arrays.particles)).astype(np.float32, copy=False)
found = {
    "events": len(arrays),
    "id_sum": int(ak.to_numpy(arrays.eventId).sum(dtype=np.uint64)),
    "particles": particles.size,
    "particle_bits": int(particles.view(np.uint32).sum(dtype=np.uint64)),
}
print(json.dumps(found))
