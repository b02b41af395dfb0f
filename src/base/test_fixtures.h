// For tests: the folder tests/fixtures.
#ifndef COLONNADE_BASE_TEST_FIXTURES_H
#define COLONNADE_BASE_TEST_FIXTURES_H

#include <filesystem>

namespace colonnade {

// Defined in tests/fixtures_folder.cpp, the one object file that knows where the sources stand: a compiler
// cache can serve all others in every clone.
std::filesystem::path test_fixtures();

}  // namespace colonnade

#endif
