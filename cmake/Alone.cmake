# Tests, and everything in builds that are made from nothing each time - those of the sanitizers -, are compiled several
# files as one, which takes a third of the time. These stay alone: what is local to them has the name of
# something in another file of their layer.
set(COLONNADE_ALONE_codec
  lz4.cpp lzma.cpp planes_test.cpp zstd.cpp)
set(COLONNADE_ALONE_dataset
  copy_test.cpp hostile_test.cpp reader_threads_test.cpp schema_evolution_test.cpp view_test.cpp)
set(COLONNADE_ALONE_field
  reflect_test.cpp)
set(COLONNADE_ALONE_format
  frame_test.cpp tfile_anchor_test.cpp tfile_records_test.cpp tfile_streamer_info.cpp)
set(COLONNADE_ALONE_frame
  executor/executor_threads_test.cpp functions/elementwise.cpp functions/lists_misuse_test.cpp
  functions/lists_select.cpp functions/lists_subscript_test.cpp functions/lists_test.cpp
  functions/physics_pairs.cpp functions/physics_test.cpp functions/physics_vectors.cpp functions/strings.cpp
  graph/select.cpp graph/text.cpp graph/plan.cpp graph/plan_results.cpp results/arrays.cpp results/automatic_histogram.cpp
  results/axis.cpp results/histogram_test.cpp results/reductions_test.cpp results/results_threads_test.cpp
  results/rows.cpp results/rows_test.cpp results/saved_test.cpp results/snapshot_test.cpp
  sources/column_shape.cpp sources/source_test.cpp sources/source_test_tools_test.cpp)
set(COLONNADE_ALONE_io
  conformance_test.cpp local/local_reader_test.cpp local/local_writable_test.cpp
  memory/memory_store.cpp memory/memory_store_test.cpp object_store_conformance_test.cpp
  rados/rados_cluster.cpp read_scheduler_test.cpp s3/s3_file_server_test.cpp s3/s3_file_test.cpp
  http/http_retry_test.cpp s3/s3_signing.cpp s3/s3_store.cpp s3/s3_store_server_test.cpp)
set(COLONNADE_ALONE_container
  closing_files_test.cpp object_store/garbage_test.cpp object_store/commit_test.cpp object_store/writer_test.cpp
  object_store/directory_test.cpp object_store/updates_test.cpp root_file/reader_test.cpp root_file/writer_test.cpp)
set(COLONNADE_ALONE_page
  object_container_test.cpp page_copy.cpp page_sink_test.cpp page_work.cpp)
