"""Objects made and dropped by the json encoder and decoder and by re: json_churn.py [ROUNDS]"""
import json
import re
import sys
import time

from own_cost import print_own_cost

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 400


def document(n):
    return {"rows": [{"id": i, "name": "row %d" % (i * n), "values": [i * 0.5, i * 1.5, None, True]} for i in range(300)]}


def main():
    start = time.monotonic()
    words = 0
    for n in range(rounds):
        text = json.dumps(document(n), indent=1 if n % 2 else None)
        back = json.loads(text)
        words += len(re.findall(r"\w+ \d+", text)) + len(back["rows"])
    print("words %d" % words)
    print_own_cost(start)


main()
