"""The decode of RAPPOR's bit counts into words."""
