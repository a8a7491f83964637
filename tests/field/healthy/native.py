"""Healthy programs in C++: `native.py KIND` compiles one and becomes it."""
import os
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>
static void Vectors() {
  for (int step = 0; step < 4000; ++step) {
    std::vector<std::string> words;
    for (int i = 0; i < 200; ++i) words.push_back(std::string(100 + i, 'x'));
  }
}
static void BoundedCache() {
  std::map<int, std::vector<char>> cache;
  for (int step = 0; step < 20000; ++step) {
    cache[step % 500] = std::vector<char>(4096 + step % 100);
  }
}
static void Threads() {
  for (int step = 0; step < 300; ++step) {
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; ++i) workers.emplace_back([] { std::vector<char> scratch(200000, 1); });
    for (std::thread& worker : workers) worker.join();
  }
}
int main(int, char** argv) {
  if (!std::strcmp(argv[1], "vectors")) Vectors();
  if (!std::strcmp(argv[1], "bounded_cache")) BoundedCache();
  if (!std::strcmp(argv[1], "threads")) Threads();
}
"""
folder = tempfile.mkdtemp()
with open(folder + "/native.cc", "w") as source:
    source.write(PROGRAM)
without = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
subprocess.run(["c++", "-O1", "-g", "-pthread", "-o", folder + "/native", folder + "/native.cc"], check=True, env=without)
os.execv(folder + "/native", ["native", sys.argv[1]])
