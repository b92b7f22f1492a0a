"""The golden record: what fugu answers today through its public names, so that a rebuilt inside can be compared."""
