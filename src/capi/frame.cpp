// Data frames: nodes from expression texts and functions.
#include "capi/frame.h"

#include <limits>

#include "capi/boundary.h"
#include "capi/functions.h"
#include "capi/write_options.h"

using namespace colonnade;
using namespace colonnade::capi;
using colonnade::detail::DefineHow;
using colonnade::detail::FrameDefinition;
using colonnade::detail::NodeId;

namespace colonnade::capi {

std::unique_ptr<colonnade_frame> make_frame(detail::FrameGraphPtr graph, NodeId node) {
  auto frame = std::make_unique<colonnade_frame>();
  frame->held = detail::frame_hold(graph, node);
  frame->graph = std::move(graph);
  frame->node = node;
  return frame;
}

namespace {

// Gives out the frame of the node that `make` makes behind `frame`.
template <class Make>
colonnade_status node_behind(const colonnade_frame* frame, colonnade_frame** out, Make&& make) {
  return guarded([&] {
    need(frame, "the frame");
    need(out, "out");
    *out = make_frame(frame->graph, make(*frame->graph, frame->node)).release();
  });
}

colonnade_status define(const colonnade_frame* frame, DefineHow how, const char* name, const char* expression,
                        colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    const std::string named =
        how == DefineHow::filter ? new_name(name, "the filter") : text_of(name, "the name");
    return detail::frame_define(graph, node, how, named, {text_of(expression, "the expression"), {}, {}});
  });
}

// Hands out texts.
void give(std::vector<std::string> texts, colonnade_strings** out) {
  need(out, "out");
  auto strings = std::make_unique<colonnade_strings>();
  strings->items = std::move(texts);
  *out = strings.release();
}

std::vector<JoinKey> keys_of(const char* const* here, const char* const* there, std::size_t count) {
  const auto left = texts_of(here, count, "a key");
  const auto right = there == nullptr ? left : texts_of(there, count, "a key");
  std::vector<JoinKey> keys;
  for (std::size_t i = 0; i < count; ++i) keys.emplace_back(left[i], right[i]);
  return keys;
}

JoinOptions join_options(const colonnade_join_options* given) {
  const auto options = options_of(given, "colonnade_join_options");
  JoinOptions join;
  join.left = options.left != 0;
  join.first_of_duplicates = options.first_of_duplicates != 0;
  join.columns = texts_of(options.columns, options.num_columns, "a column");
  join.prefix = text_or(options.prefix, "");
  join.table = text_or(options.table, "");
  join.read.cache = text_or(options.cache, "");
  return join;
}

}  // namespace
}  // namespace colonnade::capi

extern "C" {

colonnade_status colonnade_frame_open(const char* name, const char* const* uris, size_t num_uris,
                                      const colonnade_frame_options* options, colonnade_frame** out) {
  return guarded([&] {
    need(out, "out");
    const auto given = options_of(options, "colonnade_frame_options");
    FrameOptions frame;
    frame.threads = given.threads;
    frame.first = given.first;
    if (given.last > 0) frame.last = given.last;
    frame.read.cache = text_or(given.cache, "");
    const auto files = texts_of(uris, num_uris, "a URI");
    *out = make_frame(detail::open_frame(text_or(name, ""), files, frame), 0).release();
  });
}

void colonnade_frame_release(colonnade_frame* frame) {
  delete frame;
}

colonnade_status colonnade_frame_define(const colonnade_frame* frame, const char* name,
                                        const char* expression, colonnade_frame** out) {
  return define(frame, DefineHow::define, name, expression, out);
}

colonnade_status colonnade_frame_redefine(const colonnade_frame* frame, const char* name,
                                          const char* expression, colonnade_frame** out) {
  return define(frame, DefineHow::redefine, name, expression, out);
}

colonnade_status colonnade_frame_default_value(const colonnade_frame* frame, const char* column,
                                               const char* expression, colonnade_frame** out) {
  return define(frame, DefineHow::default_value, column, expression, out);
}

colonnade_status colonnade_frame_filter(const colonnade_frame* frame, const char* condition, const char* name,
                                        colonnade_frame** out) {
  return define(frame, DefineHow::filter, name, condition, out);
}

colonnade_status colonnade_frame_range(const colonnade_frame* frame, uint64_t begin, uint64_t end,
                                       uint64_t stride, colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    return detail::frame_range(graph, node, begin, end, stride);
  });
}

colonnade_status colonnade_frame_alias(const colonnade_frame* frame, const char* name, const char* column,
                                       colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    return detail::frame_alias(graph, node, text_of(name, "the name"), text_of(column, "the column"));
  });
}

colonnade_status colonnade_frame_filter_available(const colonnade_frame* frame, const char* column,
                                                  int32_t available, colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    return detail::frame_available(graph, node, text_of(column, "the column"), available != 0);
  });
}

colonnade_status colonnade_frame_vary(const colonnade_frame* frame, const char* const* columns,
                                      size_t num_columns, const char* expression, const char* const* tags,
                                      size_t num_tags, const char* name, colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    std::vector<std::string> given = texts_of(tags, num_tags, "a tag");
    for (const std::string& tag : given) new_name(tag.c_str(), "the tag");
    return detail::frame_vary(graph, node, texts_of(columns, num_columns, "a column"),
                              {text_of(expression, "the expression"), {}, {}}, std::move(given),
                              new_name(name, "the variation"));
  });
}

colonnade_status colonnade_frame_join(const colonnade_frame* frame, const char* name, const char* const* uris,
                                      size_t num_uris, const char* const* here, const char* const* there,
                                      size_t num_keys, const colonnade_join_options* options,
                                      colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    return detail::frame_join(graph, node, text_of(name, "the name"), texts_of(uris, num_uris, "a URI"),
                              keys_of(here, there, num_keys), join_options(options));
  });
}

colonnade_status colonnade_frame_define_function(const colonnade_frame* frame, const char* name,
                                                 colonnade_function function, void* context,
                                                 const struct ArrowSchema* result, const char* const* columns,
                                                 size_t num_columns, colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    if (function == nullptr) fail_null("the function");
    need(result, "the type of the result");
    const std::string named = text_of(name, "the name");
    return detail::frame_define(graph, node, DefineHow::define, named,
                                {"", function_kernels(function, context, *result, named),
                                 texts_of(columns, num_columns, "a column")});
  });
}

colonnade_status colonnade_frame_define_library(const colonnade_frame* frame, const char* name,
                                                const char* library, const char* function,
                                                const char* const* columns, size_t num_columns,
                                                colonnade_frame** out) {
  return node_behind(frame, out, [&](detail::FrameGraph& graph, NodeId node) {
    return detail::frame_define(
        graph, node, DefineHow::define, text_of(name, "the name"),
        {"", library_kernels(text_of(library, "the library"), text_of(function, "the function")),
         texts_of(columns, num_columns, "a column")});
  });
}

colonnade_status colonnade_frame_columns(const colonnade_frame* frame, colonnade_strings** out) {
  return guarded([&] {
    need(frame, "the frame");
    give(detail::frame_column_names(*frame->graph, frame->node), out);
  });
}

colonnade_status colonnade_frame_column_type(const colonnade_frame* frame, const char* expression,
                                             colonnade_strings** out) {
  return guarded([&] {
    need(frame, "the frame");
    const std::string of = text_of(expression, "the expression");
    give({detail::frame_column_type(*frame->graph, frame->node, of).name()}, out);
  });
}

colonnade_status colonnade_frame_snapshot(const colonnade_frame* frame, const char* name, const char* uri,
                                          const char* const* columns, size_t num_columns,
                                          const colonnade_write_options* options, uint64_t* num_entries) {
  return guarded([&] {
    need(frame, "the frame");
    const auto given = options_of(options, "colonnade_write_options");
    const WriteMode mode = options == nullptr ? WriteMode::recreate : write_mode(given);
    auto chosen = texts_of(columns, num_columns, "a column");
    if (chosen.empty()) chosen = detail::frame_whole_columns(*frame->graph, frame->node);
    const std::string how = detail::snapshot_options(chosen, text_of(name, "the name"),
                                                     text_of(uri, "the URI"), write_options(given), mode);
    const auto result = book(*frame, colonnade_result::Kind::number, "snapshot", chosen, how);
    compute(*result);
    const auto written =
        detail::frame_value<frame::SnapshotValue>(result->graph(), result->parts[0].id(), {});
    if (num_entries != nullptr) *num_entries = written.entries;
  });
}

}  // extern "C"
