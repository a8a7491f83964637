// What a workload says of itself at its end: its own clock, without start-up, and its own peak RSS, without the launcher's.
#ifndef PLATEAU_BENCH_WORKLOADS_OWN_COST_H_
#define PLATEAU_BENCH_WORKLOADS_OWN_COST_H_

#include <chrono>
#include <cstdio>
#include <cstring>

inline void PrintOwnCost(std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("own_seconds %.6f\n", elapsed.count());
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    unsigned long kib = 0;
    while (std::fgets(line, sizeof(line), status)) {
      if (std::sscanf(line, "VmHWM: %lu", &kib) == 1) std::printf("own_peak_kib %lu\n", kib);
    }
    std::fclose(status);
  }
}

#endif  // PLATEAU_BENCH_WORKLOADS_OWN_COST_H_
