"""The parts of bench/run: one module per measurement, and what they share."""
