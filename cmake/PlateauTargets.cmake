# Small helpers so that every folder describes its target in a few lines.

find_package(Threads REQUIRED)

add_library(plateau_warnings INTERFACE)
target_compile_options(plateau_warnings INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers)
if(PLATEAU_WERROR)
  target_compile_options(plateau_warnings INTERFACE -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC 12 warns of overlapping copies in std::string operations that cannot overlap.
    target_compile_options(plateau_warnings INTERFACE -Wno-error=restrict)
  endif()
endif()

add_library(plateau_sanitizers INTERFACE)
if(PLATEAU_SANITIZE)
  target_compile_options(plateau_sanitizers INTERFACE
    -fsanitize=${PLATEAU_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(plateau_sanitizers INTERFACE -fsanitize=${PLATEAU_SANITIZE})
endif()
if(PLATEAU_BUILD_FUZZ)
  # Coverage feedback from the code under test, not only from the target's own file.
  target_compile_options(plateau_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()

# plateau_library(reader SOURCES a.cc b.cc DEPS plateau::base): target plateau_reader, alias plateau::reader.
function(plateau_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(plateau_${name} STATIC ${ARG_SOURCES})
  add_library(plateau::${name} ALIAS plateau_${name})
  target_include_directories(plateau_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(plateau_${name} PUBLIC ${ARG_DEPS} PRIVATE plateau_warnings PUBLIC plateau_sanitizers)
endfunction()

# plateau_test(varint_test SOURCES varint_test.cc DEPS plateau::trace [TIMEOUT s] [LABELS l]): a GoogleTest binary,
# each case its own ctest entry.
function(plateau_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)  # against hangs: seconds on an idle machine, and CI is not one
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main plateau_warnings plateau_sanitizers)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# plateau_script_test(name COMMAND ... [TIMEOUT s] [LABELS l]): a script of tests/ that exits 0 when it passes.
function(plateau_script_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "PLATEAU_BUILD=${PROJECT_BINARY_DIR};PLATEAU_SOURCE=${PROJECT_SOURCE_DIR}"
    SKIP_RETURN_CODE 77)
endfunction()

# plateau_benchmark(varint_benchmark SOURCES ... DEPS ...): a Google Benchmark binary.
function(plateau_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  find_package(benchmark REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} benchmark::benchmark benchmark::benchmark_main plateau_warnings)
endfunction()

# plateau_fuzz(decoder_fuzz SOURCES decoder_fuzz.cc DEPS ... CORPUS dir): with PLATEAU_BUILD_FUZZ a libFuzzer binary; in
# every build a plain test that replays the corpus through the same entry point.
function(plateau_fuzz name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  if(PLATEAU_BUILD_FUZZ)
    add_executable(${name} ${ARG_SOURCES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${ARG_DEPS} plateau_sanitizers)
  endif()
  add_executable(${name}_replay ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc)
  set_target_properties(${name}_replay PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${name}_replay PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_replay PRIVATE ${ARG_DEPS} plateau_sanitizers)
  add_test(NAME ${name}_corpus COMMAND ${name}_replay ${ARG_CORPUS})
  set_tests_properties(${name}_corpus PROPERTIES TIMEOUT 120)
endfunction()

# What runs inside the traced process: no exceptions, no RTTI, nothing exported by default, no call into the TLS allocator.
add_library(plateau_shim_flags INTERFACE)
target_compile_options(plateau_shim_flags INTERFACE
  -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer -fno-math-errno -O2
  # Fields are written one by one and read back at once: merged into vector moves, the reads would wait for the stores.
  -fno-tree-vectorize -fno-tree-slp-vectorize
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility-inlines-hidden>)

# plateau_shim_library(unwind SOURCES ... DEPS ...): a part of the shim, also linked by its unit test.
function(plateau_shim_library name)
  plateau_library(${name} ${ARGN})
  target_link_libraries(plateau_${name} PRIVATE plateau_shim_flags)
endfunction()

# plateau_prefer_archive(TARGET): links an imported library as part of the program where an archive of it is installed beside
# the shared one. Loading and binding shared libraries takes longer than reading a small recording. PLATEAU_SHARED_LIBRARIES
# has those that stay shared.
function(plateau_prefer_archive target)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  if(NOT configurations)
    set(configurations)
  endif()
  list(TRANSFORM configurations PREPEND "_")
  foreach(suffix "" ${configurations})
    plateau_prefer_archive_in(${target} IMPORTED_LOCATION${suffix} has_changed)
    if(has_changed)
      set_property(TARGET ${target} PROPERTY IMPORTED_SONAME${suffix})
    endif()
  endforeach()
  plateau_prefer_archive_in(${target} INTERFACE_LINK_LIBRARIES has_changed)
endfunction()

# The same for the files that a property of the target names.
function(plateau_prefer_archive_in target property has_changed)
  set(${has_changed} FALSE PARENT_SCOPE)
  get_target_property(files ${target} ${property})
  if(NOT files)
    return()
  endif()
  set(chosen)
  foreach(file ${files})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${file}")
    if(NOT archive STREQUAL file AND EXISTS "${archive}")
      list(APPEND chosen ${archive})
    else()
      list(APPEND chosen ${file})
      if(NOT archive STREQUAL file)
        set_property(GLOBAL APPEND PROPERTY PLATEAU_SHARED_LIBRARIES ${file})
      endif()
    endif()
  endforeach()
  if(NOT chosen STREQUAL files)
    set_property(TARGET ${target} PROPERTY ${property} ${chosen})
    set(${has_changed} TRUE PARENT_SCOPE)
  endif()
endfunction()
