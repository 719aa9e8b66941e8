"""From stored reports to answers: counting, estimates, and a folder for each verb."""
