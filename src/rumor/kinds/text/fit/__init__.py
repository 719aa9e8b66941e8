"""Which words RAPPOR's bit counts hold."""
