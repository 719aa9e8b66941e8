"""Engines that count reports: on this machine, on Spark, on a GPU."""
