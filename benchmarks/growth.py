from benchmarks.measure import *
def growth(size):
    yield from ()
