// What a data frame and its results are behind the C interface.
#ifndef COLONNADE_CAPI_FRAME_H
#define COLONNADE_CAPI_FRAME_H

#include <colonnade.h>

#include <memory>
#include <string>
#include <vector>

#include "colonnade/dataframe.h"

struct colonnade_frame {
  colonnade::detail::FrameGraphPtr graph;
  colonnade::detail::NodeId node = 0;
  std::shared_ptr<const void> held;  // the node
};

struct colonnade_result {
  enum class Kind { number, histogram, take, report };
  // A booking, and under which variation it is looked at.
  struct ResultPart {
    std::shared_ptr<colonnade::detail::FrameBooking> booking;
    std::string variation;
    std::vector<std::string> variations;  // all that reach it, once somebody asked

    colonnade::detail::FrameGraph& graph() const { return *booking->graph; }
    colonnade::detail::ResultId id() const { return booking->id; }
  };
  Kind kind = Kind::number;
  std::vector<ResultPart> parts;     // several of a take
  std::vector<std::string> columns;  // of a take

  colonnade::detail::FrameGraph& graph() const { return parts.front().graph(); }

  // What was fetched, for the pointers that callers get.
  colonnade::Histogram histogram;
  std::vector<std::size_t> bins;
  std::vector<const double*> edges;
  std::vector<colonnade::FilterCount> filters;
  std::vector<colonnade_cut> cuts;
};

namespace colonnade::capi {

std::unique_ptr<colonnade_frame> make_frame(detail::FrameGraphPtr graph, detail::NodeId node);
std::unique_ptr<colonnade_result> book(const colonnade_frame& frame, colonnade_result::Kind kind,
                                       const std::string& name, std::vector<std::string> arguments,
                                       const std::string& options = "{}");
// Computes what was asked for, and with it all that is booked.
void compute(const colonnade_result& result);

}  // namespace colonnade::capi

#endif
