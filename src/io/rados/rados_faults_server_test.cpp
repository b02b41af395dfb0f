// The rados store while Ceph fails: every operation ends, with an error that says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/test_errors.h"
#include "io/rados/rados_test_tools.h"

namespace colonnade::io {

namespace {

// True if no thread of a process runs, according to /proc: a stop signal reaches a thread when it runs next.
bool has_stopped(pid_t process) {
  const auto threads = std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task");
  return std::ranges::all_of(threads, [](const auto& thread) {
    std::ifstream file(thread.path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t name_end = text.rfind(')');
    return name_end == std::string::npos || text.compare(name_end + 2, 1, "T") == 0;
  });
}

}  // namespace

StoppedOsd::StoppedOsd() {
  EXPECT_EQ(::kill(ceph_osd(), SIGSTOP), 0);
  while (!has_stopped(ceph_osd())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void StoppedOsd::resume() {
  EXPECT_EQ(::kill(ceph_osd(), SIGCONT), 0);
}

namespace {

using testing::AnyOf;
using testing::HasSubstr;

const ValueAddress place{{1, 2}, 3, 4};
constexpr const char* impatient = "?timeout=2";

void tell_osd(const std::string& words) {
  output_of(std::string("ceph --admin-daemon ") + std::getenv("COLONNADE_TEST_CEPH_OSD_SOCKET") + " " +
            words);
}

// The monitor learns of it within seconds.
void wait_for_pool(bool full) {
  for (int attempt = 0; attempt < 300; ++attempt) {
    const std::string pools = output_of("ceph osd pool ls detail -f json");
    if ((pools.find("\"flags_names\":\"hashpspool,full\"") != std::string::npos) == full) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ADD_FAILURE() << "the cluster did not become " << (full ? "full" : "usable");
}

}  // namespace

FullCluster::FullCluster() {
  tell_osd("injectfull full");
  wait_for_pool(true);
}

void FullCluster::end() {
  if (is_over_) return;
  is_over_ = true;
  tell_osd("injectfull full 0");
  wait_for_pool(false);
}

namespace {

TEST(RadosFaults, NoSuchPool) {
  const std::string uri = "rados://no-such-pool/x";
  const Error error = error_of([&] { open_object_store(uri, {.create = true}); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.problem(), HasSubstr("no-such-pool"));
  EXPECT_THAT(error.advice(), HasSubstr("ceph osd pool create no-such-pool"));
  EXPECT_EQ(error.context().uri, uri);
}

TEST(RadosFaults, NoSuchConfiguration) {
  const Error error = error_of([] { open_object_store("rados://pool/x?conf=/nowhere/ceph.conf"); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.problem(), HasSubstr("/nowhere/ceph.conf"));
}

TEST(RadosFaults, NoMonitorConfigured) {
  const std::string file = testing::TempDir() + "/no-monitor.conf";
  std::ofstream(file) << "[global]\n";
  const Error error = error_of([&] { open_object_store("rados://pool/x?timeout=2&conf=" + file); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_FALSE(error.advice().empty());
}

TEST(RadosFaults, NobodyAtTheMonitorsAddress) {
  const std::string file = testing::TempDir() + "/nobody.conf";
  std::ofstream(file) << "[global]\nmon host = [v2:127.0.0.1:1]\nauth client required = none\n";
  const Error error = error_of([&] { open_object_store("rados://pool/x?timeout=1&conf=" + file); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), HasSubstr("ETIMEDOUT"));
  EXPECT_THAT(error.advice(), HasSubstr("ceph -s"));
}

TEST(RadosFaults, AnOsdThatDoesNotAnswerEndsInAnError) {
  const auto store = open_object_store(fresh_rados_uri("silent", impatient));
  const auto queue = store->open_queue(4);
  put(*store, place, as_bytes("before"));
  Bytes into(6);
  const FetchItem fetched{place.akey, 0, into};
  const UpdateItem updated{place.akey, {as_bytes("during")}};
  {
    const StoppedOsd stopped;
    queue->submit_fetch(1, place.object, place.dkey, {&fetched, 1});
    queue->submit_update(2, place.object, 99, {&updated, 1});
    const Error error = error_of([&] { put(*store, place, as_bytes("during")); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_THAT(error.problem(), HasSubstr(to_text(place)));
    EXPECT_THAT(error.problem(), HasSubstr("ETIMEDOUT"));
    EXPECT_THAT(error.advice(), HasSubstr("ceph -s"));
    EXPECT_EQ(error.context().uri, store->uri());
    std::array<ObjectQueue::Completion, 2> completions;
    for (std::size_t taken = 0; taken < 2;) taken += queue->wait(std::span(completions).subspan(taken));
    for (const auto& completion : completions)
      EXPECT_EQ(error_of([&] { std::rethrow_exception(completion.failure); }).kind(), ErrorKind::io);
  }
  // The same handle works again once the OSD does.
  put(*store, place, as_bytes("after."));
  EXPECT_EQ(read(*store, place, 6), Bytes(as_bytes("after.").begin(), as_bytes("after.").end()));
}

TEST(RadosFaults, AnOsdThatComesBackIsWaitedFor) {
  const auto store = open_object_store(fresh_rados_uri("pause"));
  const auto queue = store->open_queue(4);
  const Bytes value(std::size_t{1} << 20, std::byte{5});
  put(*store, {place.object, 7, 7}, value);
  StoppedOsd stopped;
  const UpdateItem updated{1, {value}};
  Bytes into(value.size());
  const FetchItem fetched{7, 0, into};
  queue->submit_update(1, place.object, 1, {&updated, 1});
  queue->submit_fetch(2, place.object, 7, {&fetched, 1});
  std::array<ObjectQueue::Completion, 2> completions;
  EXPECT_EQ(queue->wait(completions, false), 0u);
  stopped.resume();
  for (std::size_t taken = 0; taken < 2;) taken += queue->wait(std::span(completions).subspan(taken));
  for (const auto& completion : completions) EXPECT_EQ(completion.failure, nullptr);
  EXPECT_TRUE(into == value);
  EXPECT_TRUE(read(*store, {place.object, 1, 1}, value.size()) == value);
}

TEST(RadosFaults, QueuesNeedNotWaitForAnOsd) {
  const auto store = open_object_store(fresh_rados_uri("given-up", "?timeout=3600"));
  const Bytes value(std::size_t{1} << 20, std::byte{5});
  put(*store, {place.object, 7, 7}, value);
  Bytes into(value.size(), std::byte{1});
  {
    const StoppedOsd stopped;
    const auto queue = store->open_queue(4);
    const UpdateItem updated{1, {value}};
    const FetchItem fetched{7, 0, into};
    queue->submit_update(1, place.object, 1, {&updated, 1});
    queue->submit_fetch(2, place.object, 7, {&fetched, 1});
  }
  // Late answers of the OSD have no receiver.
  put(*store, {place.object, 8, 8}, value);
  EXPECT_EQ(into, Bytes(value.size(), std::byte{1}));
}

TEST(RadosFaults, AFullClusterIsAnErrorAndCanBeCleared) {
  const auto store = open_object_store(fresh_rados_uri("full"));
  put(*store, place, as_bytes("kept"));
  FullCluster full;
  const Error error = error_of([&] { put(*store, place, as_bytes("too much")); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.problem(), AnyOf(HasSubstr("ENOSPC"), HasSubstr("EDQUOT")));
  EXPECT_FALSE(error.advice().empty());
  EXPECT_EQ(error_of([&] { store->put_if({{0, 0}, 1, 0}, as_bytes("anchor"), std::nullopt); }).kind(),
            ErrorKind::io);
  EXPECT_EQ(store->size(place), 4u);
  store->remove(place);
  EXPECT_EQ(store->size(place), std::nullopt);
  full.end();
  put(*store, place, as_bytes("again"));
  EXPECT_EQ(store->size(place), 5u);
}

}  // namespace
}  // namespace colonnade::io
