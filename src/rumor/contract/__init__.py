"""Collections and the files they name, as device, collector and analyst share them."""
