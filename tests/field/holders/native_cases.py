"""Holders in C and C++: nobody may be named who does not hold. See known.py."""
import ctypes
import os
import subprocess
import tempfile

from known import COUNT, SIZE, case, main

VECTOR = r"""
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>
static std::vector<std::unique_ptr<char[]>> kept;
static std::map<int, std::string> by_number;
static std::vector<std::vector<float>>* rows;
extern "C" void push(size_t bytes) { kept.emplace_back(new char[bytes]()); }
extern "C" void insert(int i, size_t bytes) { by_number[i] = std::string(bytes, 'x'); }
extern "C" void row(size_t bytes) {
  if (rows == nullptr) rows = new std::vector<std::vector<float>>();
  rows->emplace_back(bytes / 4);
}
extern "C" void lose(size_t bytes) { volatile char* p = new char[bytes](); p[0] = 1; }
"""


def library():
    folder = tempfile.mkdtemp()
    source, made = os.path.join(folder, "vector.cc"), os.path.join(folder, "libvector.so")
    with open(source, "w") as file:
        file.write(VECTOR)
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(["g++", "-O1", "-g", "-shared", "-fPIC", "-o", made, source], check=True, env=environment)
    return ctypes.CDLL(made)


@case("native_block|module_data: libvector.so|module_data: kept_tensors.*so")
def vector_of_pointers():
    native = library()
    for i in range(COUNT):
        native.push(ctypes.c_size_t(SIZE))


@case("native_block|module_data: libvector.so|module_data: kept_tensors.*so")
def map_of_strings():
    native = library()
    for i in range(COUNT):
        native.insert(i, ctypes.c_size_t(SIZE))


@case("native_block|module_data: libvector.so|module_data: kept_tensors.*so")
def vector_on_the_heap():
    native = library()
    for i in range(COUNT):
        native.row(ctypes.c_size_t(SIZE))


@case("unreachable|not_found")
def lost_blocks():
    native = library()
    for i in range(COUNT):
        native.lose(ctypes.c_size_t(SIZE))


TORCH_VECTOR = r"""
#include <torch/extension.h>
static std::vector<torch::Tensor> kept;
void keep(torch::Tensor tensor) { kept.push_back(tensor); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("keep", &keep); }
"""


@case("native_block|module_data: libvector.so|module_data: kept_tensors.*so")
def vector_of_tensors():
    import torch
    import torch.utils.cpp_extension
    folder = os.environ.get("HOLDERS_EXTENSIONS") or tempfile.mkdtemp()
    preload = os.environ.pop("LD_PRELOAD", None)
    native = torch.utils.cpp_extension.load_inline("kept_tensors", TORCH_VECTOR, build_directory=folder)
    if preload is not None:
        os.environ["LD_PRELOAD"] = preload
    for i in range(COUNT):
        native.keep(torch.ones(SIZE // 4))


@case(r"slots\[\*\]|opaque: slots\[\*\].*|native_block|native.*")
def tensor_of_a_capsule():
    import torch
    import torch.utils.dlpack
    global slots
    slots = [torch.utils.dlpack.to_dlpack(torch.ones(SIZE // 4)) for i in range(COUNT)]


if __name__ == "__main__":
    main()
