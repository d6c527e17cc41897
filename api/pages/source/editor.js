// The editor of tasks: CodeMirror over the form's own field, in a shadow root so that its styles need no inline ones.
// Completion and hints come from the JSON Schema of task files; without JavaScript the field is a plain one.
import { autocompletion, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completions } from "./schema.js";

const LOOK = EditorView.theme({
  "&": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", fontSize: "13.5px" },
  "&.cm-focused": { outline: "2px solid var(--link)" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'DejaVu Sans Mono', monospace", minHeight: "32em", maxHeight: "76vh" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hint)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--link) 30%, transparent) !important" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--hint)", color: "var(--ink)" },
  ".cm-completionInfo": { maxWidth: "360px" },
});
const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--link)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool], color: "var(--good)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

async function edit(field) {
  const answer = await fetch(field.closest("[data-schema]").dataset.schema);
  if (!answer.ok) return;
  const schema = await answer.json();
  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "open" });
  field.after(host);
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: field.value,
      extensions: [
        lineNumbers(), history(), highlightActiveLine(), yaml(), indentUnit.of("  "), LOOK, syntaxHighlighting(COLOURS),
        autocompletion({ icons: false, override: [(context) => completions(schema, context)] }),
        keymap.of([
          ...completionKeymap, ...historyKeymap, ...defaultKeymap,
          { key: "Mod-]", run: indentMore }, { key: "Mod-[", run: indentLess }, { key: "Mod-Space", run: startCompletion },
        ]),
        EditorView.contentAttributes.of({
          "aria-label": document.querySelector(`label[for="${field.id}"]`).textContent,
          tabindex: "0", // what scrolls must hold what can be focused, and not every tool knows that an editable can
        }),
        EditorView.updateListener.of((update) => { if (update.docChanged) field.value = update.state.doc.toString(); }),
      ],
    }),
  });
  const { selectionStart: anchor, selectionEnd: head } = field;
  if (document.activeElement === field) {
    view.focus();
    view.dispatch({ selection: { anchor, head }, scrollIntoView: true });
  }
  field.hidden = true;
  // A proposal (propose.js) replaces the text; it can be undone as any edit.
  field.addEventListener("replaced", ({ detail }) => {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: detail } });
  });
  document.querySelector(`label[for="${field.id}"]`).addEventListener("click", () => view.focus());
  lead(view);
}

// What the server found wrong leads to its line.
function lead(view) {
  for (const one of document.querySelectorAll("[data-line]")) {
    one.addEventListener("click", () => {
      const line = view.state.doc.line(Math.min(Number(one.dataset.line), view.state.doc.lines));
      view.dispatch({ selection: { anchor: line.from }, scrollIntoView: true });
      view.focus();
    });
  }
}

edit(document.getElementById("text"));
