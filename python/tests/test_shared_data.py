"""Public samples, where this machine has them: equal to uproot field by field, and a di-muon spectrum."""

from __future__ import annotations

import awkward as ak
import hist
import numpy as np
import pytest
import uproot
from locations import shared
from root_values import python_values, same

import colonnade

FILES = shared("*rntuple*.root")
TREES = [path for path in shared("*.root") if path not in FILES]
MUONS = shared("Run2012BC_DoubleMuParked_Muons_1000evts*.root")
NANOAOD = shared("cmsopendata2015*.root")
MOST_ENTRIES = 100_000


def mass(pt, eta, phi):
    first, second = (ak.to_numpy(each) for each in (pt[:, 0], pt[:, 1]))
    cosh = np.cosh(ak.to_numpy(eta[:, 0] - eta[:, 1]))
    cos = np.cos(ak.to_numpy(phi[:, 0] - phi[:, 1]))
    return np.sqrt(2.0 * first * second * (cosh - cos))


def spectrum(muons):
    two = muons[ak.num(muons.pt) == 2]
    two = two[two.charge[:, 0] != two.charge[:, 1]]
    histogram = hist.Hist(hist.axis.Regular(200, 0.25, 300, transform=hist.axis.transform.log))
    histogram.fill(mass(two.pt, two.eta, two.phi))
    return histogram


if FILES:  # the collection is not everywhere

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
    def test_every_field_is_what_uproot_reads(path):
        (name,) = colonnade.datasets(path)
        data_set = colonnade.open(path)
        stop = min(data_set.num_entries, MOST_ENTRIES)
        assert not [field for field, info in data_set.schema.items() if info.unreadable]
        with uproot.open(path) as file:
            theirs = file[name]
            assert theirs.num_entries == data_set.num_entries
            expected = theirs.arrays(entry_stop=stop)
        ours = data_set.arrays(entry_stop=stop)
        assert ours.fields == expected.fields
        for field in ours.fields:
            assert same(python_values(ours[field]), python_values(expected[field])), field

    @pytest.mark.parametrize("path", TREES, ids=lambda path: path.name)
    def test_files_with_trees_only_have_no_data_sets(path):
        assert colonnade.datasets(path) == []
        (name,) = colonnade.trees(path)
        assert colonnade.open(path).num_entries == uproot.open(path)[name].num_entries

    def test_di_muon_mass_is_what_uproot_gives():
        (path,) = MUONS
        (name,) = colonnade.datasets(path)
        with uproot.open(path) as file:
            expected = file[name].arrays()
        data_set = colonnade.open(path)
        prefix = "Muon_" if "Muon_pt" in data_set.field_names else ""
        fields = [f"{prefix}{part}" for part in ("pt", "eta", "phi", "charge")]
        found = []
        for arrays in (data_set.arrays(fields), expected):
            muons = ak.zip({field.removeprefix(prefix): arrays[field] for field in fields}, depth_limit=1)
            found.append(spectrum(muons))
        assert found[0].sum() > 300
        assert found[0] == found[1]

    def test_nanoaod_collections_are_found_by_wildcard():
        (path,) = NANOAOD
        data_set = colonnade.open(path)
        muons = data_set.arrays("Muon_*")
        assert len(muons.fields) > 20
        assert all(field.startswith("Muon_") for field in muons.fields)
        assert "Muon_pt" in muons.fields
