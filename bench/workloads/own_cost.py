"""What a workload says of itself at its end: its own clock, without start-up, and its own peak RSS."""
import time


def print_own_cost(start):
    print("own_seconds %.6f" % (time.monotonic() - start))
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                print("own_peak_kib", line.split()[1])
