"""Where reports are counted: this machine, Spark, a graphics card."""
