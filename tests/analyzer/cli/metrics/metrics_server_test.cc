#include "analyzer/cli/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plateau::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(ListenAddressTest, ABarePortIsThisMachineOnly) {
  EXPECT_EQ(ParseListenAddress(":9464")->host, "127.0.0.1");
  EXPECT_EQ(ParseListenAddress(":9464")->port, 9464);
  EXPECT_EQ(ParseListenAddress("localhost:1")->host, "127.0.0.1");
  EXPECT_EQ(ParseListenAddress("0.0.0.0:0")->host, "0.0.0.0");
  EXPECT_EQ(ParseListenAddress("[::1]:80")->host, "::1");
}

TEST(ListenAddressTest, AFileIsNoAddress) {
  for (const char* file : {"metrics.prom", "-", "/var/lib/x:9464", "a:b", ":99999", "host:"}) {
    EXPECT_FALSE(ParseListenAddress(file).has_value()) << file;
  }
}

// Sends a request in the pieces given and reads until the server closes.
std::string Ask(const MetricsServer& server, const std::string& request) {
  const std::string& url = server.url();
  const size_t begin = std::string("http://127.0.0.1:").size();
  uint32_t port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(url.substr(begin, url.find('/', begin) - begin), &port));
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(send(connection, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  shutdown(connection, SHUT_WR);
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = recv(connection, buffer, sizeof(buffer), 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(n));
  close(connection);
  return answer;
}

class MetricsServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = MetricsServer::Listen({.host = "127.0.0.1", .port = 0});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Publish("plateau_live_bytes 1\n# EOF\n");
  }
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, AnswersWithTheLastText) {
  EXPECT_THAT(Ask(*server_, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                             HasSubstr("application/openmetrics-text; version=1.0.0"),
                             EndsWith("\r\n\r\nplateau_live_bytes 1\n# EOF\n")));
  server_->Publish("plateau_live_bytes 2\n# EOF\n");
  EXPECT_THAT(Ask(*server_, "GET /metrics?x=1 HTTP/1.0\r\n\r\n"), EndsWith("plateau_live_bytes 2\n# EOF\n"));
}

TEST_F(MetricsServerTest, RefusesWhatItHasNot) {
  EXPECT_THAT(Ask(*server_, "GET /../etc/passwd HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask(*server_, "POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(MetricsServerTest, ARequestThatIsNoneGetsNoAnswerAndTheNextOneDoes) {
  EXPECT_THAT(Ask(*server_, "GET /metrics"), IsEmpty());
  EXPECT_THAT(Ask(*server_, "GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST(MetricsServerErrorsTest, AnAddressThatIsNoneIsAMistakeOfTheUser) {
  EXPECT_TRUE(absl::IsInvalidArgument(MetricsServer::Listen({.host = "example.org", .port = 0}).status()));
}

}  // namespace
}  // namespace plateau::cli
