// Errors of libdaos as errors of the library.
#ifndef COLONNADE_IO_DAOS_DAOS_ERRORS_H
#define COLONNADE_IO_DAOS_DAOS_ERRORS_H

#include <string>
#include <string_view>

#include "colonnade/error.h"

namespace colonnade::io::daos {

// "DER_NOSPACE -1007: no space left". `code` is the negative return value.
std::string code_text(int code);

// "cannot write object 1:2 (DER_NOSPACE -1007: no space left)"
Error call_error(const std::string& uri, std::string_view action, int code);

// "cannot write object 1:2: no answer for 120 s"
Error timeout_error(const std::string& uri, std::string_view action, double seconds);

}  // namespace colonnade::io::daos

#endif
