// Excludes instruction sets from files that are compiled once per target; include it before Highway.
#ifndef COLONNADE_BASE_VECTOR_TARGETS_H
#define COLONNADE_BASE_VECTOR_TARGETS_H

// Vectors of unknown length cannot be stored in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#endif
