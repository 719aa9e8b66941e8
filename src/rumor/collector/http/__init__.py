"""The HTTP interface of a collector, a relay and an issuer."""
