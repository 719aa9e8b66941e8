"""One folder for each kind of question, and what every kind has."""
