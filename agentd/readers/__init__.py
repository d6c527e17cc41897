"""What a file says, as facts: each reader runs in a process of its own, bounded in time and memory
(docs/readers.md).

asking   starts that process beside the daemon, holds its deadline, and takes what it says
child    the process: limits itself, reads its standard input as one format, prints facts
formats  the table of formats, and which one a file is
bounds   how much may be said
the rest one family of formats each
"""
