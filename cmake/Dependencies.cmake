# Third-party libraries, all from the distribution's packages. Each becomes one imported target.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(Boost REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(HIGHWAY REQUIRED IMPORTED_TARGET libhwy)

# Optional: where it is missing, local files are read in threads.
pkg_check_modules(URING IMPORTED_TARGET liburing)
if(NOT URING_FOUND)
  message(STATUS "liburing is not installed: local files are read in threads")
endif()

# Optional: where one of them is missing, "s3:" says that it is not built in.
pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.84)
pkg_check_modules(CRYPTO IMPORTED_TARGET libcrypto>=1.1.1)
if(NOT CURL_FOUND OR NOT CRYPTO_FOUND)
  message(STATUS "libcurl or libcrypto is not installed: there is no HTTP and no S3")
endif()
