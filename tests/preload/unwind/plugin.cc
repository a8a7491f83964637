// A library whose frames have a size of their own. Built twice with different sizes: unloaded and loaded
// again, the two take turns at the same addresses.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) void PluginCall(void (*callback)(void*), void* argument,
                                                                  int depth) {
  volatile char frame[PLATEAU_PLUGIN_FRAME_BYTES];
  frame[0] = static_cast<char>(depth);
  if (depth > 0) {
    PluginCall(callback, argument, depth - 1);
  } else {
    callback(argument);
  }
  frame[PLATEAU_PLUGIN_FRAME_BYTES - 1] = frame[0];
}
