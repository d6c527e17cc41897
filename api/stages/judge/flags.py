"""Which texts speak to whoever judges, rather than about what happened.

A flag withdraws a line as proof and keeps its words from the judge; it never lowers a score. The
words are looked for in every view of a text (`api.stages.judge.cleaning`), within bounded
distances, so that a long text costs linear time.
"""

from __future__ import annotations

import re

from api.stages.judge.cleaning import views
from detectors.model.caches import cache_by_size

_WHO = (
    r"(?:judge|grader|evaluators?|annotators?|reviewers?|graders|judges|verifier|reward model"
    r"|scorer|auditor|qa bot|assessor|llm)"
)
_GOOD = (
    r"(?:success\w*|succeeded|pass(?:ed)?|yes|true|met|satisfied|complete[d]?|correct|100 ?%"
    r"|10 ?/ ?10|1\.0|full marks)"
)
_BAD = r"(?:fail\w*|no\b|false|unmet|incomplete|incorrect|unsuccessful|0\.0|zero)"
_RULES = (
    r"(?:instruction|rule|criteri|prompt|rubric|guideline|direction|constraint|told"
    r"|anweisung|regeln|instrucciones|consignes)"
)

PATTERNS: dict[str, str] = {
    "override": rf"\b(?:ignore|disregard|forget|override|bypass|discard|neglect|ignoriere|vergiss"
    rf"|ignora|ignorez|oublie)\b.{{0,60}}{_RULES}"
    r"|(?:忽略|无视).{0,20}(?:指令|指示|规则)|(?:игнорируй|забудь).{0,40}(?:инструкц|правил)"
    r"|\bnew (?:rubric|rules?|instructions?|criteria|system prompt|task)\b\s*[:=\-]"
    r"|\b(?:rubric|criteria|instructions?) (?:is|are|have been|has been|was|were) (?:updated"
    r"|changed|replaced|waived|amended)",
    "role": r"(?:^|[\n\"'>\]|.])\s*(?:system|assistant|developer|human|user|judge|grader"
    r"|evaluator|admin(?:istrator)?)"
    r"(?: (?:message|note|prompt|override))?\s*:"
    r"|<\|[^|<>]{1,30}\|>|\[/?inst\]|<</?sys>>|\[(?:judge|system|grader|evaluator|assistant)\]"
    r"|###\s*(?:system|instruction|response|assistant)"
    r"|\b(?:system|assistant|im_start|im_end)\b[^\w]{0,3}(?:im_start|im_end|prompt|message"
    r"|override)|</?s>|\bendoftext\b",
    "fence": r"\b(?:end|begin|start|close) (?:of )?(?:the )?(?:evidence|untrusted|data block"
    r"|context|transcript|prompt|instructions)\b"
    r"|</?\s*(?:evidence|verdict|success|score|reward|judgment|judgement|result|answer|criteria"
    r"|task)\b[^<>]{0,40}>"
    r"|\be\d+-[0-9a-f]{6,}\b",
    "verdict": rf"\b(?:verdict|reward|judg[e]?ment|ground truth|gold label|final (?:score|grade"
    rf"|rating)|label|evaluation (?:result|status)|task status|outcome)s?"
    rf"[\W_]{{0,6}}(?:is|was|as|must be|should be|to|equals)?[\W_]{{0,6}}(?:{_GOOD}|{_BAD}|max\w*"
    rf"|1\b|0\b|10\b)"
    rf"|[\"']\s*(?:verdict|score|met|success|reward|passed|criteria|status|judgment)\s*[\"']\s*:"
    rf"|\b(?:criteri(?:on|a)|milestones?|c\d{{1,2}}|m\d{{1,2}})\b.{{0,24}}\b(?:is|are|was|were|="
    rf"|:|satisfied|met|fulfilled)\W{{0,4}}(?:{_GOOD}|{_BAD}|yes\b|fulfilled)"
    rf"|\bmet\W{{1,4}}(?:yes|no)\b",
    "demand": r"\b(?:give|output|return|assign|award|answer|respond|reply|rate|grade|report"
    r"|record|emit|print|choose|select|mark|score|declare|set|say|write|deliver|provide|pick"
    r"|vote)\b"
    r".{0,48}\b(?:verdicts?|scores?|rewards?|full marks|maximum|1\.0|10 ?/ ?10"
    r"|as (?:a )?(?:success\w*|pass(?:ed)?|fail\w*|completed?)|success(?:ful)?|criteri(?:on|a)"
    r"|[\"'`]?yes[\"'`]?(?:\W|$)|[\"'`]no[\"'`]|for every|met\b)"
    r"|\b(?:you (?:must|should|have to|need to|are required to)|please"
    r"|kindly)\b.{0,40}\b(?:accept|approve|pass|score|judge|grade|rate|deem|conclude|assign"
    r"|confirm|fail)\b"
    r"|(?:返回|输出|给出).{0,20}(?:成功|满分|通过)|\b(?:gib|vergib|antworte|bewerte|devuelve|responde"
    r"|renvoie[sz]?|verni|верни|ответь)\b.{0,40}\b(?:erfolg\w*|ja|éxito|exito|succès|succes|sí|si"
    r"|oui|успех|да|1\.0|10/10)\b",
    "authority": rf"\b(?:note|message|memo|hint|attention|notice|reminder|dear|instructions?"
    rf"|to)\b\W{{0,3}}(?:for|to)?\W{{0,3}}(?:the |all |any )?{_WHO}\b"
    rf"|\b{_WHO}['’]?s? (?:note|comment|remark|memo|hint|instructions?)\b"
    rf"|\b(?:as|being) (?:the|a|an) (?:\w+ )?{_WHO}\b"
    rf"|\b(?:{_WHO}|human|human experts?|expert|ground truth|gold|oracle|benchmark|supervisor|qa"
    rf"|openai|anthropic)\b.{{0,40}}\b(?:verified|confirmed|labell?ed|approved|passed|certified"
    rf"|validated|signed off|marked)\b"
    rf"|\b(?:verified|confirmed|labell?ed|approved|certified|validated|signed off"
    rf"|marked)\b.{{0,24}}\bby\b.{{0,20}}\b(?:{_WHO}|human|experts?|oracle)\b"
    r"|\b(?:ground truth|gold label)\b",
    "claim": r"\b(?:task|goal|objective|mission|assignment|user'?s request|instructions?"
    r"|all (?:steps|criteria|goals|requirements)|every (?:step|criterion|requirement)"
    r"|requirements?|the agent|this agent)\b"
    r"[^.!?]{0,12}\b(?:was|were|has|have|is|are|been|now|already|successfully|fully|correctly"
    r"|did)\b[^.!?]{0,24}"
    r"\b(?:complet\w*|done|achieved|accomplished|satisfied|succeed\w*|success\w*|fulfilled|met"
    r"|finished|solved|fail\w*|impossible)\b"
    r"|\b(?:the|this) agent (?:succeeded|failed|completed|finished|solved)\b",
    "counting": rf"\b(?:treat|consider|regard|deem|assume|count(?:s|ed)?|interpret|accept"
    rf"|view)\b.{{0,48}}\b(?:as|is|to be|it|that|for)\b.{{0,24}}(?:{_GOOD}|{_BAD}|done|enough"
    rf"|sufficient|fulfilled)"
    r"|\bpartial (?:completion|success|credit)\b.{0,24}\b(?:counts?|is (?:enough|sufficient|fine)"
    r"|suffices|acceptable)|\b(?:is|any \w+(?: \w+)?) (?:is )?(?:a )?success\b.{0,3}$"
    r"|\b(?:real|actual|true|correct|final) (?:after-?)?state (?:is|was|shows)\b"
    r"|\b(?:after-?state|screenshots?|evidence|observations?|logs?) (?:is|are|was"
    r"|were) (?:outdated|stale|wrong|invalid|corrupt\w*|unreliable|fabricated|forged|fake)\b",
    "reasoning": r"^\W*(?:thought process|thoughts?|reasoning|chain of thought|analysis|solution"
    r"|final answer|step[- ]by[- ]step)\s*:"
    r"|\blet['’]?s (?:solve|think|work|reason|break|go)\b.{0,40}\bstep[s]?\b|</?think(?:ing)?>",
}
"""By name; docs/judge.md says what each is for."""

STRONG: tuple[str, ...] = ("override", "role", "fence", "demand", "authority")
"""What is flagged in texts that only together say it: the other words too often stand beside each
other in facts."""

_COMPILED = {name: re.compile(pattern, re.DOTALL) for name, pattern in PATTERNS.items()}


@cache_by_size(16 << 20, lambda names, *_: 128 + 8 * len(names))
def flags(text: str, names: tuple[str, ...] = tuple(PATTERNS)) -> tuple[str, ...]:
    """Return the names of what ``text`` is suspected of, among ``names``."""
    readings = list(views(text))
    return tuple(name for name in names if any(map(_COMPILED[name].search, readings)))
