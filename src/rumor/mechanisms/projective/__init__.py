"""One of D values by incidence in a projective space."""
