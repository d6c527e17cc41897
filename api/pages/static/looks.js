// What it looked like: the replay in its frame, the screenshot, or either where there are both.

const looks = document.getElementById("looks");
const shot = document.getElementById("picture");
let frame = null;
let last = { at: 0, playing: false, speed: 1 };

if (looks.dataset.visual) {
  frame = document.createElement("iframe");
  frame.title = "Replay of what the pages looked like";
  // Scripts of ours run in it, none of the recording's; nothing in it can leave it, open, submit or download.
  frame.sandbox = "allow-scripts allow-same-origin";
  frame.src = looks.dataset.visual;
  frame.addEventListener("load", () => tell(last));
  looks.prepend(frame);
  if (shot) choice();
}

function tell(word) {
  last = word;
  frame?.contentWindow?.postMessage(word, location.origin);
}

document.addEventListener("clock", ({ detail }) => {
  const speed = Number(document.getElementById("speed").value);
  tell({ at: detail.at, playing: lanes.playing, speed });
});

function choice() {
  const bar = document.createElement("div");
  bar.className = "choice";
  for (const [name, other] of [["Replay", shot], ["Screenshot", frame]]) {
    const button = document.createElement("button");
    button.textContent = name;
    button.addEventListener("click", () => {
      frame.classList.toggle("away", other === frame);
      shot.classList.toggle("away", other === shot);
      for (const one of bar.children) one.setAttribute("aria-pressed", one === button);
    });
    bar.append(button);
  }
  looks.prepend(bar);
  bar.firstChild.click();
}
