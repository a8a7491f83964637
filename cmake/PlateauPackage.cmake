# What goes into packages beside the targets' own files: licences of what is linked in, and how CPack makes the .deb.
# tools/wheel packs the same tree as a wheel and as an archive.

if(PLATEAU_STATIC)
  set(licences_folder ${CMAKE_INSTALL_DOCDIR}/licences)
  set(web_folder ${PROJECT_BINARY_DIR}/analyzer/report/page/web/work)
  install(CODE "
    set(web)
    if(EXISTS \"${web_folder}/node_modules\")
      set(web --web \"${web_folder}\")
    endif()
    execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/licences\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${licences_folder}\" \${web}
      RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(WARNING \"The licences of what is linked in are not installed; this tree is not to be handed on.\")
    endif()")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plateau-trace)
set(CPACK_PACKAGE_CONTACT "The Plateau developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tells memory leaks of training runs from warm-up and caches")
set(CPACK_PACKAGE_DESCRIPTION "Plateau records the allocations of a program without changing it and says whether its memory leaks,
 and if not, what the growth is, when it stops, and which line of code holds the bytes.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)  # also when another machine builds it
endif()
# The shims need no newer C library, the analyzer none; Python is one of the things it records.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.17)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3)
include(CPack)
