"""One file for every noise on every shape of laws: `SHAPE_NOISE.py` holds LEAKAGE (see `fugu.loss.door`)."""
