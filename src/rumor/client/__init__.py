"""What runs on a person's device: a secret, a ledger, and the reports made with them."""
