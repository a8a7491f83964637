// C++: a recursive parser over 600 generated texts; keeps each tree, interns its names, or neither. ok|leak|names
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

struct Tree {
  std::string name;
  std::vector<double> values;
  std::vector<std::unique_ptr<Tree>> parts;
};

std::set<std::string> g_names;

[[gnu::noinline]] std::unique_ptr<Tree> Parse(const char** text, bool interns) {
  auto tree = std::make_unique<Tree>();
  const char* begin = *text;
  while (**text >= 'a') ++*text;
  tree->name.assign(begin, *text);
  if (interns) g_names.insert(tree->name);
  tree->values.assign(300, 1.0);  // HOLD 2.4 kB
  if (**text != '(') return tree;
  ++*text;
  while (**text != ')') {
    tree->parts.push_back(Parse(text, interns));
    if (**text == ',') ++*text;
  }
  ++*text;
  return tree;
}

[[gnu::noinline]] std::string Write(int seed, int depth) {
  std::string text =
      "name" + std::string(1 + (seed * 7 + depth) % 40, static_cast<char>('a' + (seed + depth) % 26));
  if (depth == 0) return text;
  text += '(';
  for (int i = 0; i < 4; ++i) text += (i > 0 ? "," : "") + Write(seed + i, depth - 1);
  return text + ')';
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "ok";
  std::vector<std::unique_ptr<Tree>> kept;
  size_t parts = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string text = Write(i, 3);
    const char* at = text.c_str();
    auto tree = Parse(&at, kind == "names");
    parts += tree->parts.size();
    if (kind == "leak") kept.push_back(std::move(tree));
  }
  std::printf("COUNT texts=600 parts=%zu\n", parts);
}
