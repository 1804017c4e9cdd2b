# Flags that every target of the project has, own code only.
function(sinew_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  set(host $<COMPILE_LANGUAGE:C,CXX>)  # nvcc takes neither
  target_compile_options(${target} PRIVATE "$<${host}:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion>")
  if(SINEW_SANITIZE)
    target_compile_options(${target} PRIVATE
      "$<${host}:-fsanitize=${SINEW_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
    target_link_options(${target} PUBLIC -fsanitize=${SINEW_SANITIZE})
  endif()
  if(SINEW_MARCH)
    target_compile_options(${target} PRIVATE "$<${host}:-march=${SINEW_MARCH}>")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # its garbage collector takes a twentieth of the time, for memory that is there
    target_compile_options(${target} PRIVATE "$<${host}:--param=ggc-min-heapsize=800000>")
  endif()
endfunction()

# sinew_precompile(TARGET HEADER): parses a header once for TARGET; other targets with the same flags reuse it.
function(sinew_precompile target header)
  if(SINEW_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${header})
  endif()
endfunction()
function(sinew_reuse_precompiled target owner)
  if(SINEW_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# sinew_unite(TARGET SOURCES): sources of one folder (a room) in one translation unit, those that lie in the target's own
# folder twenty at a time. Each template is then instantiated once per room instead of once per source.
function(sinew_unite target)
  if(NOT SINEW_UNITE)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(loose 0)
  foreach(source ${ARGN})
    get_filename_component(room ${source} DIRECTORY)
    if(room STREQUAL "" OR IS_ABSOLUTE ${source})
      math(EXPR room "${loose} / 20")
      math(EXPR loose "${loose} + 1")
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "room_${room}")
  endforeach()
endfunction()

# Code whose speed does not matter, where compile time does: tests and the command line.
function(sinew_optimise_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# sinew_library(FOLDER SOURCES ... LINK ...): the library of one folder, exported as sinew::FOLDER.
function(sinew_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LINK_PRIVATE" ${ARGN})
  add_library(sinew_${name} STATIC ${arg_SOURCES})
  add_library(sinew::${name} ALIAS sinew_${name})
  sinew_compile_options(sinew_${name})
  target_include_directories(sinew_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                           PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sinew_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE})
  set_target_properties(sinew_${name} PROPERTIES EXPORT_NAME ${name})
  if(NOT EMSCRIPTEN)  # there it would mean a module that is linked while it runs
    set_target_properties(sinew_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  if(name STREQUAL "core")
    sinew_precompile(sinew_core "${PROJECT_SOURCE_DIR}/src/precompiled.h")
  elseif(sinew::core IN_LIST arg_LINK)
    sinew_reuse_precompiled(sinew_${name} sinew_core)
  endif()
  sinew_unite(sinew_${name} ${arg_SOURCES})
  install(TARGETS sinew_${name} EXPORT sinewTargets)
endfunction()

# sinew_test(FOLDER SOURCES ... LINK ...): one GoogleTest program per folder, one ctest entry per test.
# STANDALONE: without Eigen and the precompiled header.
function(sinew_test name)
  cmake_parse_arguments(arg "STANDALONE" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name}_tests ${arg_SOURCES})
  sinew_compile_options(${name}_tests)
  sinew_optimise_little(${name}_tests)
  target_include_directories(${name}_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name}_tests PRIVATE ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main fmt::fmt)
  target_compile_definitions(${name}_tests PRIVATE SINEW_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(NOT arg_STANDALONE)
    sinew_reuse_precompiled(${name}_tests tests_precompiled)
  endif()
  gtest_discover_tests(${name}_tests DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()

# sinew_bench(NAME SOURCES ... LINK ...): one Google Benchmark program, NAME_bench.
function(sinew_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name}_bench ${arg_SOURCES})
  sinew_compile_options(${name}_bench)
  target_link_libraries(${name}_bench PRIVATE ${arg_LINK} benchmark::benchmark)
endfunction()
