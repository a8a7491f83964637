#!/usr/bin/env python3
"""Makes a real NVIDIA library fetch its driver functions: usage: use_runtime.py LIBRARY FUNCTION.

FUNCTION gets the address of some scratch memory and numbers; over the null driver it fails, after the library has asked for
what it needs. What it was handed is in the event log.
"""
import ctypes
import sys

library, function = sys.argv[1:]
scratch = ctypes.create_string_buffer(4096)
result = getattr(ctypes.CDLL(library), function)(ctypes.byref(scratch), ctypes.c_size_t(1), None, None)
print("%s returned %d" % (function, result))
