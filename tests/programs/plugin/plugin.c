/* A shared object whose constructor, destructor and one function allocate. */
#include <stdlib.h>
static void* kept;
__attribute__((constructor)) static void load(void) { kept = malloc(10201); }
__attribute__((destructor)) static void unload(void) { free(kept); }
void* plugin_alloc(size_t bytes) { return malloc(bytes); }
