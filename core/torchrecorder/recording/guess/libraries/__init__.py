"""Inputs from what models of well-known libraries say of themselves, a module for each library.

None of the libraries is imported here.
"""
