// Conditions that events meet: the list follows the episode, and a button copies a line for a task.

const list = document.getElementById("list");

// What is as it was stays in place, so that focus and selection do.
async function take() {
  const answer = await fetch(`${list.dataset.here}/conditions/now`);
  if (answer.status === 401) return location.reload();
  if (!answer.ok) throw new Error(answer.status);
  const told = document.createRange().createContextualFragment(await answer.text());
  for (const item of told.querySelectorAll(".deed")) {
    const known = document.getElementById(item.id);
    if (known?.outerHTML === item.outerHTML) item.replaceWith(known);
  }
  list.replaceChildren(told);
}

list.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("button.copy");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    // Without TLS there is no clipboard beyond this machine: what is to be copied is selected.
    getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});

onNews(take);
