"""RAPPOR: bits of a Bloom filter, permanent and instantaneous noise."""
