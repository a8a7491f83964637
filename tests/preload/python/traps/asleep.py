import ctypes, os, threading
helper = ctypes.CDLL(os.environ["HELPER"])
threading.Thread(target=helper.MallocForever, daemon=True).start()
helper.PutAllocatingThreadToSleep()
