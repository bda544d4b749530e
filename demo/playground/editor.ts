// Creates the code editor: CodeMirror in the colours of the page, with mistakes marked in the text.

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import {
  type Diagnostic,
  lintGutter,
  nextDiagnostic,
  previousDiagnostic,
  setDiagnostics,
} from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Mistake } from './compile-worker.ts';
import { explanationsIn, suggestionsIn } from './type-help.ts';

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.self], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: [tags.comment], color: 'var(--text-soft)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className], color: 'var(--code-type)' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: 'var(--accent)',
  },
]);

const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--ground)', color: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', fontSize: '0.8125rem', lineHeight: '1.55' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--text-soft)', border: 'none' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft) !important',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line-strong)',
    maxWidth: 'min(32rem, 100vw)',
    fontSize: '0.8125rem',
  },
  // Where there is no room beside the list of suggestions, the explanation comes below the list.
  '.cm-completionInfo-left-narrow, .cm-completionInfo-right-narrow': {
    top: '100% !important',
    bottom: 'auto !important',
    left: '0 !important',
    right: 'auto !important',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--accent-text)',
  },
});

/** How long after Escape the Tab key leaves the editor instead of indenting. */
const LEAVING_MS = 30_000;

/** A mistake to mark in the text; without a length, the mark ends with its line. */
export type MarkedMistake = Omit<Mistake, 'path'> & { readonly length?: number };

export interface CodeEditor {
  /** Shows another file. */
  show(path: string, text: string, isReadOnly: boolean): void;
  mark(mistakes: readonly MarkedMistake[]): void;
  /** Puts the cursor into a line, counted from 1. */
  goTo(line: number, column?: number): void;
}

export function createEditor(
  parent: HTMLElement,
  onChange: (text: string) => void,
  onRun: () => void,
): CodeEditor {
  const stateOf = (path: string, text: string, isReadOnly: boolean) =>
    EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [suggestionsIn(path)] }),
        explanationsIn(path),
        javascript({ typescript: /\.[mc]?ts$/.test(path) }),
        syntaxHighlighting(colours),
        look,
        EditorView.cspNonce.of('editor'),
        EditorView.contentAttributes.of({
          'aria-label': `Code of ${path}`,
          'aria-describedby': 'editor-keys', // is an element of the code pane
        }),
        // This listens to `keyup`, after the editor's own handling of Escape, which closes lists and drops the
        // selection.
        EditorView.domEventHandlers({
          keyup(event, shown) {
            if (event.key === 'Escape') shown.setTabFocusMode(LEAVING_MS);
          },
        }),
        EditorState.readOnly.of(isReadOnly),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
        keymap.of([
          {
            key: 'Mod-Enter',
            run: () => {
              onRun();
              return true;
            },
          },
          { key: 'F8', run: nextDiagnostic, shift: previousDiagnostic },
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          ...completionKeymap,
          indentWithTab,
        ]),
      ],
    });
  // The view gets a state at once, because it takes the nonce of its style sheet from the state.
  const view = new EditorView({ parent, state: stateOf('main.ts', '', true) });
  // The scrolling element can have the focus, so that keyboards can scroll it.
  view.scrollDOM.tabIndex = 0;
  view.scrollDOM.setAttribute('role', 'group');
  view.scrollDOM.setAttribute('aria-label', 'Code');
  // The list of mistakes below makes the editor smaller, so the cursor is scrolled into view again.
  new ResizeObserver(() => {
    if (!view.hasFocus) return;
    view.dispatch({ effects: EditorView.scrollIntoView(view.state.selection.main) });
  }).observe(view.dom);
  /** Returns the offset of a line and column, or the nearest one that the text has. */
  const offsetOf = (line: number, column: number) => {
    const { doc } = view.state;
    const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return Math.min(from + column, to);
  };
  return {
    show: (path, text, isReadOnly) => view.setState(stateOf(path, text, isReadOnly)),
    mark(mistakes) {
      const { doc } = view.state;
      const diagnostics = mistakes.map(({ line, column, length, message }): Diagnostic => {
        const from = offsetOf(line, column);
        const to = length === undefined ? doc.lineAt(from).to : from + length;
        return { from, to: Math.min(to, doc.length), severity: 'error', message };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    goTo(line, column = 0) {
      view.dispatch({ selection: { anchor: offsetOf(line, column) }, scrollIntoView: true });
      view.focus();
    },
  };
}
