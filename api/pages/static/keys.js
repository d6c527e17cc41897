// Steps by keyboard: j and k, or the arrow keys while a step has the focus, go to the next and the one before.
document.querySelector(".step[aria-current]")?.scrollIntoView({ block: "nearest" });

const MOVES = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };

document.addEventListener("keydown", (event) => {
  const move = MOVES[event.key];
  const inStep = document.activeElement.closest(".step");
  if (!move || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key.startsWith("Arrow") && !inStep) return;
  const steps = Array.from(document.querySelectorAll("a.step"));
  const at = steps.findIndex((step) => step.getAttribute("aria-current") === "step");
  const next = steps[Math.min(Math.max(at + move, 0), steps.length - 1)];
  if (!next || next === steps[at]) return;
  event.preventDefault();
  next.focus();
  next.click();
});
