"""Plans: the parameters of a collection from the wanted accuracy, for any kind of question."""
