// The reference for the parallel write: ROOT's RNTupleParallelWriter, one fill context per thread.
// parallel_write_root FILE COMPRESSION THREADS EVENTS [--direct] [--page-size=BYTES], compression as ROOT's
// number.
#include <TROOT.h>

#include <ROOT/REntry.hxx>
#include <ROOT/RNTupleFillContext.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleParallelWriter.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <memory>

#include "../gen_random.h"

namespace {

void fill(ROOT::RNTupleParallelWriter& writer, const gen_random::Events& events) {
  auto context = writer.CreateFillContext();
  auto entry = context->CreateEntry();
  auto id = entry->GetPtr<std::uint64_t>("eventId");
  auto particles = entry->GetPtr<std::vector<float>>("particles");
  for (std::size_t i = 0; i < events.size(); ++i) {
    *id = events.ids[i];
    particles->assign(events.begin_of(i), events.end_of(i));
    context->Fill(*entry);
  }
}

void write(const gen_random::Options& asked, const std::vector<gen_random::Events>& events) {
  auto model = ROOT::RNTupleModel::CreateBare();
  model->MakeField<std::uint64_t>("eventId");
  model->MakeField<std::vector<float>>("particles");
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(static_cast<std::uint32_t>(std::atoi(asked.compression)));
  options.SetMaxUnzippedPageSize(asked.page_size);
  options.SetUseDirectIO(asked.direct);
  auto writer = ROOT::RNTupleParallelWriter::Recreate(std::move(model), "random", asked.path, options);
  gen_random::in_threads(asked.threads, [&](unsigned number) { fill(*writer, events[number]); });
  writer->CommitDataset();
  writer.reset();
}

}  // namespace

int main(int argc, char** argv) {
  return lhcb::guarded([&] {
    ROOT::GetROOT();  // ROOT sets itself up here, before the clock starts
    ROOT::EnableThreadSafety();
    const auto options = gen_random::options_from(argc, argv);
    if (options.as_arrays) throw std::runtime_error("ROOT does not write arrays");
    return gen_random::run(options, [&](const auto& events) { write(options, events); });
  });
}
