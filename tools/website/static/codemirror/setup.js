// An editor for Python, of CodeMirror's parts.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The colours are classes of site.css, which knows light and dark.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], class: "k" },
  { tag: [tags.string, tags.special(tags.string)], class: "s" },
  { tag: tags.comment, class: "c" },
  { tag: [tags.number, tags.bool, tags.null], class: "m" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], class: "nf" },
]);

// What is typed over a selection: Chromium would give it a style of its own, which the page's policy forbids.
const overSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    if (empty || event.inputType !== "insertText" || event.data === null) return false;
    event.preventDefault();
    const typed = { userEvent: "input.type", scrollIntoView: true };
    const insert = () => view.state.update(view.state.replaceSelection(event.data), typed);
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, event.data, insert))) view.dispatch(insert());
    return true;
  },
});

export function makeEditor(text, { label, run, changed }) {
  const ours = keymap.of([
    { key: "Ctrl-Enter", mac: "Cmd-Enter", run: () => (run(), true) },
    { key: "Shift-Enter", run: () => (run(), true) },
  ]);
  return new EditorView({
    doc: text,
    extensions: [
      ours,
      overSelection,
      lineNumbers(), // errors name lines
      EditorView.cspNonce.of("editor"), // for its styles, as the page's policy has it
      history(),
      closeBrackets(),
      bracketMatching(),
      python(),
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      syntaxHighlighting(colours),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
      EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
    ],
  });
}
