/* The C interface: writes a data set from Arrow arrays, reads a column back as a stream, and fills a histogram. */
#include <colonnade.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(colonnade_status status) {
  if (status == COLONNADE_OK) return;
  fprintf(stderr, "%s\n", colonnade_last_error()->message);
  exit(1);
}

/* ---- Arrow data by hand; programs that have an Arrow library get these structs from it. */

static void nothing_to_free(struct ArrowSchema* schema) {
  schema->release = NULL;
}
static void nothing_to_free_either(struct ArrowArray* array) {
  array->release = NULL;
}

enum { entries = 1000 };

static void write_muons(void) {
  static float pt[entries];
  static int32_t charge[entries];
  for (int i = 0; i < entries; ++i) {
    pt[i] = 0.1f * (float)i;
    charge[i] = i % 2 ? 1 : -1;
  }

  struct ArrowSchema fields[2] = {{.format = "f", .name = "pt", .release = nothing_to_free},
                                  {.format = "i", .name = "charge", .release = nothing_to_free}};
  struct ArrowSchema* field_pointers[2] = {&fields[0], &fields[1]};
  struct ArrowSchema schema = {
      .format = "+s", .name = "", .n_children = 2, .children = field_pointers, .release = nothing_to_free};

  const colonnade_write_options options = {
      .struct_size = sizeof options, .compression = "zstd:5", .mode = COLONNADE_WRITE_REPLACE};
  colonnade_writer* writer;
  check(colonnade_writer_create("Muons", "muons.root", &schema, &options, &writer));

  const void* pt_buffers[2] = {NULL, pt};
  const void* charge_buffers[2] = {NULL, charge};
  const void* no_buffers[1] = {NULL};
  struct ArrowArray columns[2] = {
      {.length = entries, .n_buffers = 2, .buffers = pt_buffers, .release = nothing_to_free_either},
      {.length = entries, .n_buffers = 2, .buffers = charge_buffers, .release = nothing_to_free_either}};
  struct ArrowArray* column_pointers[2] = {&columns[0], &columns[1]};
  struct ArrowArray batch = {.length = entries,
                             .n_buffers = 1,
                             .buffers = no_buffers,
                             .n_children = 2,
                             .children = column_pointers,
                             .release = nothing_to_free_either};
  check(colonnade_writer_append(writer, &batch));
  check(colonnade_writer_close(writer));
  colonnade_writer_release(writer);
}

static void read_muons(void) {
  const char* file = "muons.root";
  colonnade_reader* reader;
  check(colonnade_open("Muons", &file, 1, NULL, &reader));
  const char* column = "pt";
  struct ArrowArrayStream batches;
  check(colonnade_reader_stream(reader, &column, 1, 0, UINT64_MAX, 300, &batches));
  double sum = 0;
  for (;;) {
    struct ArrowArray batch;
    if (batches.get_next(&batches, &batch) != 0) {
      fprintf(stderr, "%s\n", batches.get_last_error(&batches));
      exit(1);
    }
    if (batch.release == NULL) break; /* the end */
    const float* pt = batch.children[0]->buffers[1];
    for (int64_t i = 0; i < batch.length; ++i) sum += pt[i];
    batch.release(&batch);
  }
  batches.release(&batches);
  printf("%llu entries, the sum of pt is %.1f\n", (unsigned long long)colonnade_reader_num_entries(reader), sum);
  colonnade_reader_release(reader);
}

static void analyse_muons(void) {
  const char* file = "muons.root";
  colonnade_frame *all, *positive;
  check(colonnade_frame_open("Muons", &file, 1, NULL, &all));
  check(colonnade_frame_filter(all, "charge > 0", "positive", &positive));
  colonnade_result *count, *histogram;
  check(colonnade_frame_count(positive, &count));
  const colonnade_axis axis = {.bins = 5, .low = 0, .high = 100};
  const char* column = "pt";
  check(colonnade_frame_histogram(positive, &axis, &column, 1, NULL, &histogram));

  int64_t number;
  check(colonnade_result_int64(count, &number)); /* one pass computes both */
  colonnade_histogram bins;
  check(colonnade_result_histogram(histogram, &bins));
  printf("%lld positive muons:", (long long)number);
  for (size_t bin = 1; bin <= bins.bins[0]; ++bin)
    printf(" [%g, %g): %g", bins.edges[0][bin - 1], bins.edges[0][bin], bins.values[bin]);
  printf("\n");

  colonnade_result_release(histogram);
  colonnade_result_release(count);
  colonnade_frame_release(positive);
  colonnade_frame_release(all);
}

int main(void) {
  if (colonnade_abi_version() < COLONNADE_ABI_VERSION) {
    fprintf(stderr, "the library is older than this program\n");
    return 1;
  }
  write_muons();
  read_muons();
  analyse_muons();
  return 0;
}
