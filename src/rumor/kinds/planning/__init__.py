"""Plans: parameters from what is wanted, whatever the kind of question."""
