"""What a collector says and hears over HTTP."""
