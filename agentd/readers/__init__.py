"""What a file says, as facts: each reader runs in a process of its own, bounded in time and memory
(docs/readers.md).

asking   starts that process beside the daemon, holds its deadline, and takes its answer
child    the process: limits itself, reads its standard input as one format, prints facts
formats  the table of formats, and which one a file is
request  what a reader is asked and what comes back
bounds   how much may be reported
the rest one family of formats each
"""
