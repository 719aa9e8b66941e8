"""The collector: it takes reports over HTTP, keeps each exactly once, and counts them.

It sees reports and never a value. Nothing about a sender is kept: no address, no header, no
cookie, and of the time the day alone.
"""
