"""Does the code deliver the epsilon that it claims?"""
