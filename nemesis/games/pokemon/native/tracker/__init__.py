"""The native tracker: C code that reads lines and writes view records, and the export of what it needs to know."""
