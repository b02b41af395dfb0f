// The DAOS back end on a stand-in for libdaos: the conformance suite, and cases particular to it.
#include "io/daos/daos_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/daos/daos_test_tools.h"
#include "io/object_store_conformance_test.h"

namespace colonnade::io::daos {
namespace {

const RegisterStore plain({.name = "Daos", .fresh_uri = fresh_daos_uri});

// DAOS may behave like this: keys of removed values remain, and listings come in parts, some of them empty.
const RegisterStore awkward({.name = "DaosWithRests",
                             .fresh_uri =
                                 [](const std::string& name) {
                                   const std::string uri = fresh_daos_uri(name);
                                   Standin::get().set("tombstones", 1);
                                   Standin::get().set("list_page", 50);
                                   Standin::get().set("list_empty", 3);
                                   Standin::get().set("rec2big_silent", 1);
                                   return uri;
                                 },
                             .options = {.create = true, .object_class = "SX"}});

}  // namespace
}  // namespace colonnade::io::daos
