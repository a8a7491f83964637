// Takes the place of dlopen() in the statically linked analyzer (the linker's option --wrap).
//
// libdw would open libdebuginfod when the program starts, and SQLite may open extensions. A static program that opens
// a shared library gets a second C library with it, of whatever version this system has. Nobody here needs either.
extern "C" void* __wrap_dlopen(const char*, int) { return nullptr; }
