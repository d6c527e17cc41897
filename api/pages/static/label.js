// Labels by keyboard alone: each answer's key is on its button.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox") return;
  const found = document.querySelector(`#asked [data-key="${CSS.escape(event.key)}"]`);
  if (!found || found.disabled) return;
  event.preventDefault();
  found.click();
});
