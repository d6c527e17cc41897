"""`milestoned convert`: makes a recording of what another program recorded, so that it can be
scored here.

source    opens a file: gzip, zip, JSON, JSON lines, each bounded, each fault named with its place
formats   the table of formats: which one a file is, what each can show
tape      the recording as it is made: clock, steps, gaps for what the format can't show
har, trace, cdp, rrweb, atspi, flow, atif    one format each; with their own helpers beside them
"""

from lab.convert.convert import Conversion, Made, convert

__all__ = ["Conversion", "Made", "convert"]
