"""One file for every noise on every shape of laws: "shape_noise.py" holds LEAKAGE (see `fugu.loss.door`)."""
