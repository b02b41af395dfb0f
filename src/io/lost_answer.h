// A request that gives a file its name may have been carried out although its answer was lost or is an error:
// what is there now tells. See decision 79.
#ifndef COLONNADE_IO_LOST_ANSWER_H
#define COLONNADE_IO_LOST_ANSWER_H

#include <concepts>

#include "colonnade/error.h"

namespace colonnade::io {

// Whether the request that ended with `error` was carried out after all, as `look` finds. Where it finds out
// nothing, that is said.
template <std::invocable Look>
bool was_done(const Error& error, Look&& look) {
  try {
    return look();
  } catch (const Error&) {
    throw Error(error.kind(), error.problem() + "; it is not known whether the file is in its place",
                "when the server answers again, look with `colonnade verify` and `colonnade info` whether it "
                "is there, and is the new one",
                error.context());
  }
}

}  // namespace colonnade::io

#endif
