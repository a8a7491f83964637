"""pytest: 200 tests of one module, run in this process. ok|leak"""
import sys, numpy as np
kept = []
if __name__ == "__main__":
    import os, pytest
    os.environ["CLOCK_KIND"] = sys.argv[1]
    code = pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", __file__]); print("COUNT rounds=200"); sys.exit(code)
else:
    import os, pytest
    @pytest.mark.parametrize("i", range(200))
    def test_sum(i):
        a = np.ones(8000) * i; b = a + 1  # HOLD 64 kB
        if os.environ["CLOCK_KIND"] == "leak": kept.append(b)
        assert b[0] == i + 1
