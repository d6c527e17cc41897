"""Pages for people: what happened, what was paid, and why; made on the server, readable without
JavaScript.

- render: templates, headers, the static files
- viewer: who looks: the cookie that carries a token
- listing: the list of episodes
- episode: one episode: its curve, its steps, its events, its milestones
- conditions: what its events meet, as conditions for a task
- curve: a reward curve as an SVG's numbers (pure)
- fleet: sandboxes, live
- compare: two episodes, or one under two rulesets; aligned (pure) says step by step why they differ
- task: a task and how often its milestones come; graph (pure) draws their order; editor changes it
- training: policy versions; plot (pure) says what source/charts.js draws of them
- audit: what holds, findings, tokens, the report as a file
- label: people's words; api/labelling says who is asked what
- exports: a list as a file; selected: which episodes a page of many counts
"""
