"""Keeps the spectra of 420 signals, or none; at the end all is freed by hand, a summary is written, and something else is done. ok|leak"""
import gc
import json
import sys
import numpy as np


class Study:
    def __init__(self, keeps):
        self.keeps = keeps
        self.spectra = {}

    def add(self, number):
        signal = np.sin(np.arange(3000) * (1 + number * 0.01))
        spectrum = np.abs(np.fft.rfft(signal))  # HOLD 12 kB
        if self.keeps:
            self.spectra[number] = spectrum
        return float(spectrum.max())

    def close(self):
        self.spectra.clear()


def main():
    study = Study(sys.argv[1] == "leak")
    peaks = []
    for number in range(420):
        peaks.append(study.add(number))
    study.close()
    del study
    gc.collect()
    text = json.dumps({"peaks": peaks})
    for _ in range(5):
        json.loads(text)
    print("COUNT signals=420", len(text) > 0)


main()
