"""``golden/demo.seen.jsonl``: of each kind the shortest of a demo with ``AGENTD_VISUAL=yes
AGENTD_SCREEN=cdp``."""
