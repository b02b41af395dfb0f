#include "io/http/http_retry.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace colonnade::io {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const HttpRetry::Clock::time_point start{std::chrono::hours(1)};

TEST(Retries, WaitUpToTwiceAsLongEachTime) {
  HttpRetry longest({.timeout = seconds(600)});
  HttpRetry shortest({.timeout = seconds(600)});
  auto bound = milliseconds(100);
  for (unsigned i = 1; i < 10; ++i) {
    EXPECT_EQ(shortest.failed(start, milliseconds(0), std::nullopt, 0), milliseconds(0));
    const auto wait = longest.failed(start, milliseconds(0), std::nullopt, 0.9999);
    ASSERT_TRUE(wait);
    EXPECT_LE(*wait, bound);
    EXPECT_GE(*wait, bound - bound / 100 - milliseconds(1));
    bound = std::min(bound * 2, milliseconds(10'000));
  }
  EXPECT_EQ(longest.failed(start, milliseconds(0), std::nullopt, 0), std::nullopt);
  EXPECT_EQ(longest.attempts(), 10u);
}

TEST(Certificates, AdviceFollowsFromTheProblem) {
  EXPECT_NE(certificate_advice("SSL certificate problem: certificate has expired").find("renewed"),
            std::string_view::npos);
  EXPECT_NE(certificate_advice("SSL certificate problem: certificate is not yet valid").find("clock"),
            std::string_view::npos);
  for (const char* problem :
       {"SSL: no alternative certificate subject name matches target host name '127.0.0.1'",
        "SSL: certificate subject name 'a' does not match target host name 'b'"})
    EXPECT_NE(certificate_advice(problem).find("a name of the server"), std::string_view::npos);
  EXPECT_EQ(certificate_advice("SSL certificate problem: self-signed certificate"), "");
}

TEST(Retries, EndWithTheTimeout) {
  HttpRetry retry({.timeout = seconds(60)});
  EXPECT_EQ(retry.time_left(start), seconds(60));
  EXPECT_TRUE(retry.failed(start + seconds(20), seconds(20), std::nullopt, 0.5));
  EXPECT_EQ(retry.time_left(start + seconds(25)), seconds(35));
  EXPECT_TRUE(retry.failed(start + seconds(59), seconds(20), std::nullopt, 0.5));
  EXPECT_EQ(retry.failed(start + seconds(60), seconds(1), std::nullopt, 0), std::nullopt);
  EXPECT_EQ(retry.elapsed(start + seconds(60)), seconds(60));
  EXPECT_GT(retry.time_left(start + seconds(70)), milliseconds(0));
}

TEST(Retries, TimeForBytesCountsOnlyWhereAServerWasReached) {
  const HttpRetryPolicy policy{.timeout = seconds(1), .transfer = seconds(60)};
  HttpRetry reached(policy);
  EXPECT_TRUE(reached.failed(start + seconds(30), seconds(30), std::nullopt, 0));
  EXPECT_EQ(reached.time_left(start + seconds(30)), seconds(31));
  HttpRetry refused(policy);
  EXPECT_EQ(refused.failed(start + seconds(2), seconds(2), std::nullopt, 0, false), std::nullopt);
}

TEST(Retries, WaitAsLongAsTheServerAsks) {
  HttpRetry retry({.timeout = seconds(60)});
  EXPECT_GE(retry.failed(start, milliseconds(0), seconds(7), 0).value(), seconds(7));
  EXPECT_EQ(retry.failed(start, milliseconds(0), seconds(61), 0), std::nullopt);
}

TEST(Retries, AreForWhatMayPass) {
  const auto passes = [](HttpFailure failure, int status) {
    HttpAnswer answer;
    answer.failure = failure;
    answer.status = status;
    return may_pass(answer);
  };
  for (const HttpFailure failure : {HttpFailure::refused, HttpFailure::dropped, HttpFailure::timed_out})
    EXPECT_TRUE(passes(failure, 0));
  for (const HttpFailure failure : {HttpFailure::tls, HttpFailure::too_large, HttpFailure::cancelled,
                                    HttpFailure::no_memory, HttpFailure::other})
    EXPECT_FALSE(passes(failure, 0));
  for (const int status : {429, 500, 502, 503, 504}) EXPECT_TRUE(passes(HttpFailure::none, status));
  for (const int status : {200, 206, 301, 400, 403, 404, 409, 412, 416, 501, 507})
    EXPECT_FALSE(passes(HttpFailure::none, status));
}

TEST(Retries, ReadRetryAfter) {
  HttpAnswer answer;
  EXPECT_EQ(retry_after(answer), std::nullopt);
  answer.headers = {{"retry-after", "3"}};
  EXPECT_EQ(retry_after(answer), seconds(3));
  answer.headers = {{"retry-after", "Fri, 24 May 2013 00:00:00 GMT"}};
  EXPECT_EQ(retry_after(answer), std::nullopt);
  answer.headers = {{"retry-after", "-1"}};
  EXPECT_EQ(retry_after(answer), std::nullopt);
}

}  // namespace
}  // namespace colonnade::io
