// Answers GET /metrics with the last text it was given.
//
// One thread, one connection at a time: whoever scrapes asks every few seconds. A request is read up to 8 KiB and 2 seconds,
// everything else is refused; nothing of it is interpreted but its first line. The address is numeric or "localhost", and
// without one only this machine is listened to.
#ifndef PLATEAU_ANALYZER_CLI_METRICS_METRICS_SERVER_H_
#define PLATEAU_ANALYZER_CLI_METRICS_METRICS_SERVER_H_

#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace plateau::cli {

// "9464" of ":9464", "127.0.0.1:9464", "[::1]:9464"; nothing for what is a file's name.
struct ListenAddress {
  std::string host;   // numeric
  uint16_t port = 0;  // 0: any that is free
};
std::optional<ListenAddress> ParseListenAddress(const std::string& text);

class MetricsServer {
 public:
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(const ListenAddress& address);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // "http://127.0.0.1:9464/metrics"
  const std::string& url() const { return url_; }
  void Publish(std::string text);

 private:
  MetricsServer(int socket, std::string url);
  void Serve();
  void Answer(int connection);

  const int socket_;
  const std::string url_;
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  std::string text_;
  std::thread thread_;
};

}  // namespace plateau::cli

#endif  // PLATEAU_ANALYZER_CLI_METRICS_METRICS_SERVER_H_
