#!/usr/bin/env python3
"""Makes the CUDA libraries a PyTorch build asks for, on the null device.

usage: null_cuda_libraries.py TORCH_LIB_DIR NULL_DEVICE_SOURCE_DIR OUT_DIR

libcuda and libcudart are the null device plus, for every further function this PyTorch refers to, one that returns
success. The math libraries are such functions alone. What is missing is read from the undefined symbols of the PyTorch
libraries, so nothing here depends on a PyTorch version. Needs g++ and readelf.
"""
import os
import re
import subprocess
import sys

# Unversioned names, by prefix.
PREFIXES = [("cusparseLt", "libcusparseLt.so"), ("cuFile", "libcufile.so"), ("nvshmem", "libnvshmem_host.so"),
            ("cupti", "libcupti.so"), ("nvrtc", "libnvrtc.so"), ("nccl", "libnccl.so"), ("pnccl", "libnccl.so"),
            ("cu", "libcuda.so")]

# Functions whose answers PyTorch looks at.
HANDLE = "int %s(void** h) { *h = (void*)0x1000; return 0; }"
SPECIAL = {name: HANDLE % name for name in
           ("cublasCreate_v2", "cublasLtCreate", "cudnnCreate", "cusparseCreate", "cusolverDnCreate")}
SPECIAL.update({
    "cublasLtMatmulAlgoGetHeuristic":
        "int cublasLtMatmulAlgoGetHeuristic(void* a, void* b, void* c, void* d, void* e, void* f, void* g, int n,"
        " void* result, int* count) { __builtin_memset(result, 0, 96); *count = 1; return 0; }",
    "cublasGetMathMode": "int cublasGetMathMode(void* h, int* mode) { *mode = 0; return 0; }",
    "cublasGetPointerMode_v2": "int cublasGetPointerMode_v2(void* h, int* mode) { *mode = 0; return 0; }",
    "cudnnGetVersion": "unsigned long cudnnGetVersion(void) { return 91000; }",
    "cudnnGetCudartVersion": "unsigned long cudnnGetCudartVersion(void) { return 12040; }",
    "cudnnGetErrorString": 'const char* cudnnGetErrorString(int e) { return "null cudnn"; }',
    "cublasGetStatusString": 'const char* cublasGetStatusString(int e) { return "null cublas"; }',
    "ncclGetErrorString": 'const char* ncclGetErrorString(int e) { return "null nccl"; }',
})

# PyTorch 2.9 and later ask NVML about the links between devices: there is one device and no link.
NVML = """
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) { *device = (void*)0x1000; return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { *version = 13000; return 0; }
int nvmlDeviceGetGpuFabricInfoV(void* device, void* info) { return 3; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* type) { return 3; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, void* pci) { return 3; }
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, void* infos) { *count = 0; return 0; }
"""


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    torch_dir, null_dir, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    needed, symbols = set(), set()
    for name in sorted(os.listdir(torch_dir)):
        path = os.path.join(torch_dir, name)
        if not os.path.isfile(path) or ".so" not in name:
            continue
        for line in lines("readelf", "-dW", path):
            match = re.search(r"NEEDED.*\[(.*)\]", line)
            if match and re.match(r"lib(cu|nv|nccl)", match.group(1)):
                needed.add(match.group(1))
        for line in lines("readelf", "-W", "--dyn-syms", path):
            fields = line.split()
            if len(fields) >= 8 and fields[6] == "UND":
                symbols.add(fields[7])
    needed -= set(os.listdir(torch_dir))
    needed.add("libcuda.so.1")

    # Which library a name is expected from: its version says so, else its prefix.
    wanted = {library: {} for library in needed}
    for symbol in symbols:
        name, _, version = symbol.partition("@")
        version = version.strip("@")
        if version in wanted:
            wanted[version][name] = version
            continue
        prefix = next((lib for start, lib in PREFIXES
                       if name.startswith(start) and (start != "cu" or name[2:3].isupper())), None)
        for library in wanted:
            if prefix and library.startswith(prefix + "."):
                wanted[library][name] = version

    flags = ["-O1", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-w"]
    include = ["-I", os.path.join(null_dir, "..", "..")]
    for library, names in sorted(wanted.items()):
        sources, defines = [], []
        if library == "libcuda.so.1":
            sources = ["null_driver.cc", "null_driver_memory.cc", "null_memory.cc"]
        elif library.startswith("libcudart.so."):
            sources = ["null_runtime.cc", "null_runtime_memory.cc"]
            defines = ["-DNULL_RUNTIME_VERSION=" + ("12040" if library.endswith("12") else "13000")]
        texts = "".join(open(os.path.join(null_dir, source)).read() for source in sources)
        missing = sorted(name for name in names if not re.search(r"\b%s\(" % re.escape(name), texts))
        stub = os.path.join(out, library + ".c")
        with open(stub, "w") as file:
            for name in missing:
                body = SPECIAL.get(name, "int %s() { return 0; }" % name)
                file.write('__attribute__((visibility("default"))) ' + body + "\n")
        version_script = []
        if any(names.values()):
            script = os.path.join(out, library + ".map")
            with open(script, "w") as file:
                for version in sorted(set(names.values()) - {""}):
                    globals_ = "*;" if version == library else "".join(
                        name + "; " for name in sorted(names) if names[name] == version)
                    file.write("%s { global: %s };\n" % (version, globals_))
            version_script = ["-Wl,--version-script=" + script]
        objects = []
        subprocess.check_call(["gcc", *flags, "-c", stub, "-o", stub + ".o"])
        objects.append(stub + ".o")
        for source in sources:
            target = os.path.join(out, library + "." + source + ".o")
            subprocess.check_call(["g++", "-std=c++20", *flags, *defines, *include, "-c",
                                   os.path.join(null_dir, source), "-o", target])
            objects.append(target)
        subprocess.check_call(["g++", "-shared", "-static-libstdc++", "-static-libgcc", *objects,
                               "-Wl,-soname," + library, "-Wl,-Bsymbolic", *version_script, "-o", os.path.join(out, library), "-ldl"])
        print("%-24s %4d functions of ours, %4d that do nothing" % (library, len(names) - len(missing), len(missing)))
        for scrap in [stub, *objects, os.path.join(out, library + ".map")]:
            if os.path.exists(scrap):
                os.remove(scrap)
    nvml = os.path.join(out, "libnvidia-ml.so.1")
    subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-w", "-x", "c", "-", "-Wl,-soname,libnvidia-ml.so.1", "-o", nvml],
                   input=NVML, text=True, check=True)


if __name__ == "__main__":
    main()
