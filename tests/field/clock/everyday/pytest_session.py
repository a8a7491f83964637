"""pytest: a class of 60 tests with four parameters each, a fixture of the session collects what they made. ok|leak"""
import os
import sys
import tempfile

TESTS = '''
import os
import numpy as np
import pytest

@pytest.fixture(scope="session")
def collected():
    return []

@pytest.fixture
def table(request):
    rows = {"r%d" % i: np.arange(60.0) + i for i in range(60)}  # HOLD
    yield rows

@pytest.mark.parametrize("scale", [1, 2, 3, 4])
@pytest.mark.parametrize("case", range(60))
class TestTable:
    def test_sum(self, table, collected, case, scale):
        assert sum(float(r.sum()) for r in table.values()) * scale > 0
        if os.environ["KIND"] == "leak":
            collected.append(table)
'''

import pytest

os.environ["KIND"] = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "test_table.py")
    with open(path, "w") as file:
        file.write(TESTS)
    code = pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", path])
print("COUNT tests=240")
sys.exit(code)
