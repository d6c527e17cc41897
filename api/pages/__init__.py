"""Pages for people: what happened, what was paid, and why; made on the server, readable without JavaScript.

render    templates, headers, the static files
viewer    who looks: the cookie that carries a token
listing   the list of episodes
episode   one episode: its curve, its steps, its events, its milestones
curve     a reward curve as an SVG's numbers (pure)
lanes     an episode's events by step, folded (pure)
"""
