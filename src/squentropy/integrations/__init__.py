"""The loss in other libraries: one file for each framework, imported by name, so that none is loaded unasked."""
