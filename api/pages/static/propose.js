// The form that proposes a task from recordings, or has one drafted from its instruction where there are none: files are
// read here and sent as JSON, stored episodes by their ids, the YAML goes into the editor. Recordings confirm a draft that
// stands in the editor.
const place = document.getElementById("proposing");
const form = place.querySelector("form");
const told = place.querySelector(".proposed");
const instances = place.querySelector(".instances");
const OUTCOMES = ["good", "bad"];

place.hidden = false;

// What the agent was told in each chosen recording; what was written of one stays while it is chosen. At each letter, not when
// a field is left: the button that is pressed then would move away under the pointer.
form.addEventListener("input", (event) => {
  if (event.target.matches("[name=good], [name=bad], [name=good_ids], [name=bad_ids], [data-episode]")) askInstructions();
});

function askInstructions() {
  const before = toldOf();
  const labels = listChosen().map(({ name }) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    Object.assign(input, { type: "text", maxLength: 10_000, autocomplete: "off", value: before.get(name) ?? "" });
    input.dataset.recording = name;
    label.append(`In ${name} `, input);
    return label;
  });
  instances.querySelector(".told").replaceChildren(...labels);
  instances.hidden = labels.length < 2;
}

// Files and stored episodes, successes first: { name, outcome, file } or { name, outcome, episode }.
function listChosen() {
  return OUTCOMES.flatMap((outcome) => [
    ...[...form.elements[outcome].files].map((file) => ({ name: file.name, outcome, file })),
    ...[...new Set([...pickedEpisodes(outcome), ...writtenEpisodes(outcome)])].map((episode) => ({ name: episode, outcome, episode })),
  ]);
}

const pickedEpisodes = (outcome) =>
  [...form.querySelectorAll("[data-episode]")].filter(({ value }) => value === outcome).map(({ dataset }) => dataset.episode);

// An id, or the address of the episode's page.
const writtenEpisodes = (outcome) =>
  form.elements[`${outcome}_ids`].value.split(/[\s,]+/).filter(Boolean).map((text) => text.replace(/^.*\/episodes\//, "").replace(/[/?#].*$/, ""));

const toldOf = () => new Map([...instances.querySelectorAll("[data-recording]")].map((input) => [input.dataset.recording, input.value.trim()]));

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const buttons = form.querySelectorAll("button");
  const confirms = event.submitter?.value === "confirm";
  const count = listChosen().length;
  for (const button of buttons) button.disabled = true;
  show(line(count || confirms ? "Reading the recordings and comparing them…" : "Asking the judge's model for a draft…"));
  try {
    await (confirms ? confirm() : count ? propose() : draft());
  } catch (error) {
    show(line(`${confirms ? "Not confirmed" : "No proposal"}: ${error.message}`, "wrong"));
  } finally {
    for (const button of buttons) button.disabled = false;
  }
});

async function propose() {
  const recordings = await chosen();
  const told = toldOf();
  // Of a template each recording has an instruction; the service names the one that has none.
  if ([...told.values()].some(Boolean)) {
    for (const one of recordings) one.instruction = told.get(one.name) || null;
  }
  const proposal = await ask("/editor/propose", { recordings, ...head() });
  if (proposal) replace(proposal.yaml, evidence(proposal));
}

async function chosen() {
  const recordings = [];
  for (const { name, outcome, file, episode } of listChosen()) {
    recordings.push(episode ? { name, outcome, episode } : await recording(file, outcome));
  }
  return recordings;
}

async function confirm() {
  if (!listChosen().some(({ outcome }) => outcome === "good")) throw new Error("choose a recorded success: a draft is confirmed by one that reaches its goal");
  const text = document.getElementById("text").value;
  if (!text.trim()) throw new Error("there is no draft below");
  const confirmed = await ask("/editor/confirm", { draft: text, recordings: await chosen() });
  if (confirmed) replace(confirmed.yaml, kept(confirmed));
}

async function draft() {
  if (!form.elements.instruction.value.trim()) throw new Error("choose a recorded success, or write what the agent was told");
  const drafted = await ask("/editor/draft", head());
  if (drafted) replace(drafted.yaml, [line(`Drafted by ${drafted.by} from the instruction alone. Read it, and confirm it by recordings.`)]);
}

const head = () => ({ instruction: form.elements.instruction.value, id: form.elements.id.value });

async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.status === 401) return location.reload(); // logged out meanwhile
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.detail);
  return found;
}

function replace(yaml, lines) {
  const field = document.getElementById("text");
  field.value = yaml;
  field.dispatchEvent(new CustomEvent("replaced", { detail: yaml }));
  show(...lines);
}

async function recording(file, outcome) {
  const name = file.name;
  if (name.endsWith(".jsonl")) return { name, outcome, lines: await file.text() };
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return { name, outcome, frames: btoa(binary) };
}

function evidence({ good, bad, decided, notes, milestones }) {
  const head = line(`Proposed from ${counted(good, "success", "successes")} and ${counted(bad, "failure", "failures")}. ${decided
    ? "Every success reaches the goal, and no failure does." : "Nothing shows yet that no failure reaches the goal."}`);
  const list = document.createElement("ul");
  for (const one of milestones) {
    const weight = one.weight === null ? "a penalty" : `weight ${one.weight}`;
    list.append(item(`${one.id}: in ${one.in_good} of ${good} successes and ${one.in_bad} of ${bad} failures, `
      + `event ${one.event} of ${one.recording}; ${weight}`));
  }
  list.append(...notes.map((note) => item(`Note: ${note}.`)));
  return [head, list];
}

function kept({ good, bad, milestones, left_out, notes }) {
  const head = line(`Confirmed by ${counted(good, "success", "successes")} and ${counted(bad, "failure", "failures")}: it is no draft any more.`);
  const list = document.createElement("ul");
  for (const one of milestones) {
    const unknown = one.unknown_bad ? `, not known in ${one.unknown_bad}` : "";
    list.append(item(`${one.id}: in ${one.in_good} of ${good} successes and ${one.in_bad} of ${bad} failures${unknown}`));
  }
  list.append(...left_out.map((one) => item(`Left out: ${one.id}, ${one.why}.`)), ...notes.map((note) => item(`Note: ${note}.`)));
  return [head, list];
}

const counted = (count, singular, plural) => `${count} ${count === 1 ? singular : plural}`;

function line(text, name = "note") {
  const made = document.createElement("p");
  made.className = name;
  made.textContent = text;
  return made;
}

function item(text) {
  const made = document.createElement("li");
  made.textContent = text;
  return made;
}

const show = (...lines) => told.replaceChildren(...lines);
