#include "analyzer/cli/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/report/metrics/open_metrics.h"

namespace plateau::cli {
namespace {

constexpr size_t kMaxRequest = 8192;
constexpr int kRequestMs = 2000;
constexpr int kPollMs = 200;  // how soon the end is noticed

socklen_t FillAddress(const ListenAddress& address, sockaddr_storage* out) {
  std::memset(out, 0, sizeof(*out));
  auto* v4 = reinterpret_cast<sockaddr_in*>(out);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(out);
  if (inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    return sizeof(*v4);
  }
  if (inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    return sizeof(*v6);
  }
  return 0;
}

uint16_t PortOf(int socket) {
  sockaddr_storage address;
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                                            : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The first line of a request, "" when none came in time.
std::string RequestLine(int connection) {
  std::string request;
  const int64_t end = NowMs() + kRequestMs;
  while (request.size() < kMaxRequest && !absl::StrContains(request, "\r\n\r\n")) {
    pollfd wait = {connection, POLLIN, 0};
    const int64_t left = end - NowMs();
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0) return "";
    char buffer[1024];
    const ssize_t n = recv(connection, buffer, sizeof(buffer), 0);
    if (n <= 0) return "";
    request.append(buffer, static_cast<size_t>(n));
  }
  return request.substr(0, request.find("\r\n"));
}

void SendAll(int connection, const std::string& bytes) {
  const int64_t end = NowMs() + kRequestMs;
  size_t sent = 0;
  while (sent < bytes.size()) {
    pollfd wait = {connection, POLLOUT, 0};
    const int64_t left = end - NowMs();
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0) return;
    const ssize_t n = send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return;
    if (n > 0) sent += static_cast<size_t>(n);
  }
}

}  // namespace

std::optional<ListenAddress> ParseListenAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || absl::StrContains(text, '/')) return std::nullopt;
  ListenAddress address;
  uint32_t port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) return std::nullopt;
  address.port = static_cast<uint16_t>(port);
  address.host = text.substr(0, colon);
  if (address.host.empty() || address.host == "localhost") address.host = "127.0.0.1";
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  return address;
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(const ListenAddress& address) {
  sockaddr_storage where;
  const socklen_t size = FillAddress(address, &where);
  if (size == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--metrics: ", address.host, " is no address: give a numeric one, localhost, or a file's name"));
  }
  const int socket = ::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return absl::ErrnoToStatus(errno, "socket");
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket, reinterpret_cast<sockaddr*>(&where), size) != 0 || listen(socket, 16) != 0) {
    const int error = errno;
    close(socket);
    return absl::ErrnoToStatus(
        error, absl::StrCat("--metrics: cannot listen on ", address.host, " port ", address.port));
  }
  const bool is_v6 = absl::StrContains(address.host, ':');
  std::string url = absl::StrCat("http://", is_v6 ? "[" : "", address.host, is_v6 ? "]" : "", ":",
                                 PortOf(socket), "/metrics");
  return std::unique_ptr<MetricsServer>(new MetricsServer(socket, std::move(url)));
}

MetricsServer::MetricsServer(int socket, std::string url) : socket_(socket), url_(std::move(url)) {
  thread_ = std::thread([this] { Serve(); });
}

MetricsServer::~MetricsServer() {
  is_stopping_ = true;
  thread_.join();
  close(socket_);
}

void MetricsServer::Publish(std::string text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  text_ = std::move(text);
}

void MetricsServer::Serve() {
  while (!is_stopping_) {
    pollfd wait = {socket_, POLLIN, 0};
    if (poll(&wait, 1, kPollMs) <= 0) continue;
    const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Answer(connection);
    close(connection);
  }
}

void MetricsServer::Answer(int connection) {
  const std::string line = RequestLine(connection);
  if (line.empty()) return;
  std::string body, status = "200 OK", type = report::kOpenMetricsType;
  if (absl::StartsWith(line, "GET /metrics ") || absl::StartsWith(line, "GET /metrics?")) {
    const std::lock_guard<std::mutex> lock(mutex_);
    body = text_;
  } else {
    status = absl::StartsWith(line, "GET ") ? "404 Not Found" : "405 Method Not Allowed";
    type = "text/plain; charset=utf-8";
    body = "the metrics are at /metrics\n";
  }
  SendAll(connection, absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ",
                                   body.size(), "\r\nConnection: close\r\n\r\n", body));
}

}  // namespace plateau::cli
