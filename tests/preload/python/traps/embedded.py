def inside():
    return bytearray(3000000 - 1)
inside()
