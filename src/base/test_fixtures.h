// For tests: the folder tests/fixtures.
#ifndef COLONNADE_BASE_TEST_FIXTURES_H
#define COLONNADE_BASE_TEST_FIXTURES_H

#include <filesystem>

namespace colonnade {

// Defined in tests/fixtures_folder.cpp, the only object file that contains the path of the sources: a
// compiler cache can share all others between clones.
std::filesystem::path test_fixtures();

}  // namespace colonnade

#endif
