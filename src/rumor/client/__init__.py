"""The code that runs on a respondent's device: secret, ledger, and the reports made with them."""
