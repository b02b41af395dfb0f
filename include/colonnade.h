/* Colonnade in C: the interface for programs and languages that speak C. Columns travel as Arrow C data and
 * streams.
 *
 *   colonnade_reader* events;
 *   if (colonnade_open("Events", (const char*[]){"f.root"}, 1, NULL, &events) != COLONNADE_OK)
 *     fprintf(stderr, "%s\n", colonnade_last_error()->message);
 *   struct ArrowArrayStream batches;
 *   colonnade_reader_stream(events, (const char*[]){"pt", "jets.pt"}, 2, 0, UINT64_MAX, 0, &batches);
 *
 * Every function that can fail returns a status, and on failure leaves its results as they were and a
 * description in colonnade_last_error(). Text is UTF-8 and ends with a zero byte; a pointer to a list may be
 * null where its length is 0. Null pointers elsewhere are COLONNADE_USAGE, but for options (the defaults) and
 * where a function says what they mean. What a function gives out through `out` belongs to the caller, who
 * releases it; releasing null does nothing.
 *
 * Threads: an object is used by one thread at a time; different objects by any number of threads. A data
 * frame and all that is made of it are one object. Arrow data may be used and released by any thread.
 *
 * Versions: functions, and members at the end of structs of options, are only added. COLONNADE_ABI_VERSION
 * grows with what is added; a program checks that colonnade_abi_version() is not less than what it was
 * compiled with.
 */
#ifndef COLONNADE_C_H
#define COLONNADE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COLONNADE_ABI_VERSION 2

/* ---- The Arrow C data interface, as its specification gives it */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* ---- Errors and versions */

typedef int32_t colonnade_status;
enum colonnade_status_code {
  COLONNADE_OK = 0,
  COLONNADE_IO = 1,          /* the operating system or a server refused or failed */
  COLONNADE_FORMAT = 2,      /* the bytes are not what the format allows */
  COLONNADE_CHECKSUM = 3,    /* the bytes are not what was written */
  COLONNADE_UNSUPPORTED = 4, /* valid, but this version cannot interpret it */
  COLONNADE_TYPE = 5,        /* the requested type does not fit the stored one */
  COLONNADE_SCHEMA = 6,      /* a schema that cannot be built */
  COLONNADE_NOT_FOUND = 7,   /* no such file, data set, field */
  COLONNADE_CONVERSION = 8,  /* a value does not fit the requested type */
  COLONNADE_USAGE = 9,       /* a call that makes no sense in this state */
  COLONNADE_RESOURCE = 10,   /* memory or another limit */
  COLONNADE_INTERNAL = 11    /* a defect of the library; please report it */
};

typedef struct colonnade_error {
  colonnade_status status;
  const char* message; /* all of it, in several lines */
  const char* problem; /* what is wrong and why */
  const char* advice;  /* what to try; empty if there is none */
  const char* uri;     /* where; empty and -1 are unknown */
  const char* data_set;
  const char* field;
  int64_t column, cluster, page, offset;
} colonnade_error;

/* Of the last function that failed in this thread; valid until the next one fails there. Null if none has. */
const colonnade_error* colonnade_last_error(void);

uint32_t colonnade_abi_version(void);
const char* colonnade_version(void); /* "0.1.0" */

/* ---- Lists of texts */

typedef struct colonnade_strings colonnade_strings;
size_t colonnade_strings_size(const colonnade_strings* strings);
const char* colonnade_strings_get(const colonnade_strings* strings,
                                  size_t index); /* null beyond the last one */
void colonnade_strings_release(colonnade_strings* strings);

/* The data sets of a file or an object store. */
colonnade_status colonnade_data_sets(const char* uri, colonnade_strings** out);

/* ---- Reading */

/* Fields that are in some files of a chain only. */
enum colonnade_missing {
  COLONNADE_MISSING_ERROR = 0,
  COLONNADE_MISSING_FILL = 1,
  COLONNADE_MISSING_SKIP = 2
};

typedef struct colonnade_read_options {
  size_t struct_size;     /* sizeof(colonnade_read_options) */
  const char* cache;      /* as ReadOptions::cache, docs/cache.md; null: as the configuration says */
  int32_t missing_fields; /* COLONNADE_MISSING_... */
  uint64_t memory_budget; /* bytes of pages that are fetched ahead; 0: the default */
} colonnade_read_options;

typedef struct colonnade_reader colonnade_reader;

/* Opens a data set, or those of several files as one. `uris` may hold wildcards. `name` may be null if each
 * file has one data set. */
colonnade_status colonnade_open(const char* name, const char* const* uris, size_t num_uris,
                                const colonnade_read_options* options, colonnade_reader** out);
/* Streams and arrays that were read stay valid. */
void colonnade_reader_release(colonnade_reader* reader);
uint64_t colonnade_reader_num_entries(const colonnade_reader* reader);
/* The names of the top-level fields that can be read. */
colonnade_status colonnade_reader_fields(colonnade_reader* reader, colonnade_strings** out);

/* Columns are paths of fields: "pt", "jets", "jets.pt" (the same lists, of one member). Without any, they are
 * all top-level fields that can be read. The schema and the arrays are structs with one child for each.
 * Strings and lists have 64-bit offsets; pairs and tuples are structs with the members "0", "1", ...;
 * optionals have missing values; variants are sparse unions, in which a variant without value is a missing
 * value of the first alternative. */
colonnade_status colonnade_reader_schema(colonnade_reader* reader, const char* const* columns,
                                         size_t num_columns, struct ArrowSchema* out);
/* The entries [first, last) as one array; `last` beyond the last entry means all. */
colonnade_status colonnade_reader_read(colonnade_reader* reader, const char* const* columns,
                                       size_t num_columns, uint64_t first, uint64_t last,
                                       struct ArrowArray* out);
/* The same in batches of at most `batch_entries`, which end where clusters do; 0: a cluster, or as many of
 * its entries as take 64 MiB. The stream may outlive the reader. */
colonnade_status colonnade_reader_stream(colonnade_reader* reader, const char* const* columns,
                                         size_t num_columns, uint64_t first, uint64_t last,
                                         uint64_t batch_entries, struct ArrowArrayStream* out);

/* ---- Writing */

enum colonnade_write_mode {
  COLONNADE_WRITE_CREATE = 0,  /* what is there is an error */
  COLONNADE_WRITE_REPLACE = 1, /* what is there is replaced when the new one is complete */
  COLONNADE_WRITE_ADD = 2      /* a data set is added to a ROOT file */
};
enum colonnade_nulls {
  COLONNADE_NULLS_REFUSED = 0, /* columns are plain; a missing value is an error */
  /* Fields that the schema calls nullable are optional, but for structs and lists of structs: RNTuple has no
   * optional of a type without name. */
  COLONNADE_NULLS_OPTIONAL = 1
};

typedef struct colonnade_write_options {
  size_t struct_size;      /* sizeof(colonnade_write_options) */
  const char* compression; /* "zstd:5", "lz4", "none", ...; null: the default */
  int32_t mode;            /* COLONNADE_WRITE_... */
  int32_t nulls;           /* COLONNADE_NULLS_... */
  uint64_t cluster_size;   /* bytes, compressed; 0: the default */
  const char* description; /* of the data set; may be null */
} colonnade_write_options;

typedef struct colonnade_writer colonnade_writer;

/* `schema` is a struct with one child for each field. It is not released. Numbers, booleans, strings,
 * binaries (vectors of bytes), lists, fixed-size lists, structs, maps (lists of pairs), unions (variants) and
 * dictionaries (what they stand for) of any depth are taken, but structs only in structs and lists, and no
 * binaries of a fixed size; dates, times and durations are stored as integers. */
colonnade_status colonnade_writer_create(const char* name, const char* uri, const struct ArrowSchema* schema,
                                         const colonnade_write_options* options, colonnade_writer** out);
/* Adds entries: a struct array of the writer's schema. The array is released in any case. Nothing of it is
 * written if it does not fit. */
colonnade_status colonnade_writer_append(colonnade_writer* writer, struct ArrowArray* entries);
uint64_t colonnade_writer_num_entries(const colonnade_writer* writer);
/* Makes what was written so far readable, and goes on. */
colonnade_status colonnade_writer_commit(colonnade_writer* writer);
/* Completes the data set. Whatever it returns, only colonnade_writer_release() may follow. */
colonnade_status colonnade_writer_close(colonnade_writer* writer);
/* Without close, what was not committed is dropped. */
void colonnade_writer_release(colonnade_writer* writer);

/* Writes a whole stream; it is released in any case. `num_entries` may be null. */
colonnade_status colonnade_write_stream(const char* name, const char* uri, struct ArrowArrayStream* stream,
                                        const colonnade_write_options* options, uint64_t* num_entries);

/* ---- Data frames: see docs/dataframe.md and docs/expressions.md. Nothing is read before a result is
 * requested. */

typedef struct colonnade_frame colonnade_frame;
typedef struct colonnade_result colonnade_result;

typedef struct colonnade_frame_options {
  size_t struct_size; /* sizeof(colonnade_frame_options) */
  uint32_t threads;   /* 0: one per processor */
  uint64_t first;     /* entries from `first` ... */
  uint64_t last;      /* ... until before `last`; 0: all */
  const char* cache;  /* as above */
} colonnade_frame_options;

colonnade_status colonnade_frame_open(const char* name, const char* const* uris, size_t num_uris,
                                      const colonnade_frame_options* options, colonnade_frame** out);
void colonnade_frame_release(colonnade_frame* frame);
/* Each gives a new frame and leaves `frame` as it is. */
colonnade_status colonnade_frame_define(const colonnade_frame* frame, const char* name,
                                        const char* expression, colonnade_frame** out);
colonnade_status colonnade_frame_redefine(const colonnade_frame* frame, const char* name,
                                          const char* expression, colonnade_frame** out);
colonnade_status colonnade_frame_default_value(const colonnade_frame* frame, const char* column,
                                               const char* expression, colonnade_frame** out);
/* `name` is that of the cut in reports; null: none. */
colonnade_status colonnade_frame_filter(const colonnade_frame* frame, const char* condition, const char* name,
                                        colonnade_frame** out);
/* Of the entries that come here, begin, begin + stride, ... and less than end (0: no end). */
colonnade_status colonnade_frame_range(const colonnade_frame* frame, uint64_t begin, uint64_t end,
                                       uint64_t stride, colonnade_frame** out);
/* Another name of a column. */
colonnade_status colonnade_frame_alias(const colonnade_frame* frame, const char* name, const char* column,
                                       colonnade_frame** out);
/* Entries of files that have the column, or, with 0 for `available`, of those that do not. */
colonnade_status colonnade_frame_filter_available(const colonnade_frame* frame, const char* column,
                                                  int32_t available, colonnade_frame** out);
/* Other values of columns, one per tag: "{pt * 0.9, pt * 1.1}"; of several columns, which vary together,
 * "{{x * 0.9, x * 1.1}, {y * 0.9, y * 1.1}}". They are called name:tag, see colonnade_result_variations().
 * `name` may be null for one column, which then gives it. */
colonnade_status colonnade_frame_vary(const colonnade_frame* frame, const char* const* columns,
                                      size_t num_columns, const char* expression, const char* const* tags,
                                      size_t num_tags, const char* name, colonnade_frame** out);

typedef struct colonnade_join_options {
  size_t struct_size;          /* sizeof(colonnade_join_options) */
  int32_t left;                /* rows without a match stay; their joined columns have no value */
  int32_t first_of_duplicates; /* where several entries have a key; else that is an error */
  const char* const* columns;  /* of the other data set; all but the keys, if none are named */
  size_t num_columns;
  const char* prefix; /* of all new names; null: "Name_" of those that are taken */
  const char* table;  /* the file of the table of keys; null: none */
  const char* cache;  /* as above */
} colonnade_join_options;
/* The columns of another data set by keys, which are integers: `here` are expressions, `there` columns of the
 * other one; null for columns of the same names. See docs/joins.md. */
colonnade_status colonnade_frame_join(const colonnade_frame* frame, const char* name, const char* const* uris,
                                      size_t num_uris, const char* const* here, const char* const* there,
                                      size_t num_keys, const colonnade_join_options* options,
                                      colonnade_frame** out);

/* A function over columns. It is called for many rows at once, and by several threads at once: `arguments` is
 * a struct with one child for each column, which the function neither changes nor releases nor keeps. It puts
 * an array with as many values as `arguments` has into `result`, which the library releases, and returns 0;
 * anything else ends the pass with an error. The values follow from the arguments alone. `context` is what
 * colonnade_frame_define_function() was given. */
typedef int (*colonnade_function)(void* context, const struct ArrowSchema* schema,
                                  const struct ArrowArray* arguments, struct ArrowArray* result);
/* A column that a function computes; `result` is the type of its values: numbers, booleans, texts, and lists
 * of them. It is not released. The function and its context must stay valid as long as frames and results. */
colonnade_status colonnade_frame_define_function(const colonnade_frame* frame, const char* name,
                                                 colonnade_function function, void* context,
                                                 const struct ArrowSchema* result, const char* const* columns,
                                                 size_t num_columns, colonnade_frame** out);
/* A column that a function of a shared library computes: colonnade/functions.h makes such libraries. */
colonnade_status colonnade_frame_define_library(const colonnade_frame* frame, const char* name,
                                                const char* library, const char* function,
                                                const char* const* columns, size_t num_columns,
                                                colonnade_frame** out);

/* The columns that the frame has, defined ones among them. */
colonnade_status colonnade_frame_columns(const colonnade_frame* frame, colonnade_strings** out);
/* The type of an expression as C++ spells it, a list of one text. */
colonnade_status colonnade_frame_column_type(const colonnade_frame* frame, const char* expression,
                                             colonnade_strings** out);
/* Writes columns (all, without any) of the entries that are left, at once. Without `options` it replaces what
 * is there. */
colonnade_status colonnade_frame_snapshot(const colonnade_frame* frame, const char* name, const char* uri,
                                          const char* const* columns, size_t num_columns,
                                          const colonnade_write_options* options, uint64_t* num_entries);

/* Results are booked; reading the first computes all that are booked on the frame in one pass. Wherever a
 * column is named, it may be an expression. A result stays valid when its frame is released. */
void colonnade_result_release(colonnade_result* result);
colonnade_status colonnade_frame_count(const colonnade_frame* frame, colonnade_result** out);
/* `statistic`: "sum", "min", "max", "mean" or "stddev". */
colonnade_status colonnade_frame_statistic(const colonnade_frame* frame, const char* statistic,
                                           const char* column, colonnade_result** out);

typedef struct colonnade_axis {
  const char* name; /* may be null */
  uint32_t bins;    /* equal ones from low to high; low == high: the range of the values */
  double low, high;
  const double* edges; /* bins + 1 numbers, in place of low and high; may be null */
} colonnade_axis;
/* One axis and one column each; `weight` may be null. */
colonnade_status colonnade_frame_histogram(const colonnade_frame* frame, const colonnade_axis* axes,
                                           const char* const* columns, size_t num_axes, const char* weight,
                                           colonnade_result** out);
/* The values of columns, in entry order. */
colonnade_status colonnade_frame_take(const colonnade_frame* frame, const char* const* columns,
                                      size_t num_columns, colonnade_result** out);
/* How many entries reach and pass each named filter before the frame. */
colonnade_status colonnade_frame_report(const colonnade_frame* frame, colonnade_result** out);

/* Books a result for all variations that reach it, and names them: "nominal" first, then "name:tag". */
colonnade_status colonnade_result_variations(colonnade_result* result, colonnade_strings** out);
/* The same result under one of its variations, which all of these functions take; all are computed in one
 * pass. */
colonnade_status colonnade_result_variation(colonnade_result* result, const char* variation,
                                            colonnade_result** out);

/* Computes what is booked and not computed, over all files at once. Frames of several data sets run side by
 * side. */
colonnade_status colonnade_results_run(colonnade_result* const* results, size_t num_results);

/* A count, or a statistic. Integers that a double cannot hold are COLONNADE_CONVERSION. */
colonnade_status colonnade_result_double(colonnade_result* result, double* out);
/* A count, or a statistic that is an integer (sum, min and max of integers); else COLONNADE_CONVERSION. */
colonnade_status colonnade_result_int64(colonnade_result* result, int64_t* out);

/* Bins with underflow and overflow at both ends of every axis, the first axis running fastest. Valid as long
 * as the result. */
typedef struct colonnade_histogram {
  size_t num_axes;
  const size_t* bins;         /* without underflow and overflow */
  const double* const* edges; /* bins + 1 numbers each */
  size_t num_cells;           /* the product of bins + 2 */
  const double* values;       /* sums of weights */
  const double* variances;    /* sums of squared weights; null without weights, where they are the values */
  uint64_t entries;           /* fills */
} colonnade_histogram;
colonnade_status colonnade_result_histogram(colonnade_result* result, colonnade_histogram* out);

/* What colonnade_frame_take() booked: a struct with one child for each column, in one batch. */
colonnade_status colonnade_result_stream(colonnade_result* result, struct ArrowArrayStream* out);

typedef struct colonnade_cut {
  const char* name;
  uint64_t all;
  uint64_t passed;
} colonnade_cut;
/* What colonnade_frame_report() booked. `cuts` are valid as long as the result. */
colonnade_status colonnade_result_report(colonnade_result* result, const colonnade_cut** cuts,
                                         size_t* num_cuts);

#ifdef __cplusplus
}
#endif

#endif
