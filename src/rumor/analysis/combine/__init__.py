"""One estimate from several groups or collections."""
