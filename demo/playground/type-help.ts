// Shows the checker's answers in the editor: suggestions with their documentation, and explanations of the name under
// the pointer.

import type { Completion, CompletionSource } from '@codemirror/autocomplete';
import type { Extension } from '@codemirror/state';
import { hoverTooltip } from '@codemirror/view';
import type { Explanation } from '../checker/checker.ts';
import { checking } from './type-check.ts';

export function suggestionsIn(path: string): CompletionSource {
  return async (context) => {
    const from = context.matchBefore(/[#\w$]+/)?.from ?? context.pos;
    const isMember = context.state.sliceDoc(from - 1, from) === '.';
    if (!context.explicit && !isMember && from === context.pos) return null;
    const found = await checking.ask((api, files) => api.suggest(files, path, context.pos));
    if (found === null || found.length === 0) return null;
    const options = found.map(
      ({ label, kind, isNear }): Completion => ({
        label,
        type: kind,
        boost: isNear ? 1 : 0,
        info: async () => {
          const about = await checking.ask((api, files) => api.explain(files, path, from, label));
          return about === null ? null : shown(about);
        },
      }),
    );
    return { from, options, validFor: /^[#\w$]*$/ };
  };
}

export function explanationsIn(path: string): Extension {
  return hoverTooltip(async (_view, at) => {
    const about = await checking.ask((api, files) => api.describe(files, path, at));
    // TypeScript declares a name that it does not know as `any`.
    if (about === null || about.signature === 'any') return null;
    return { pos: about.from, end: about.to, create: () => ({ dom: shown(about) }) };
  });
}

function shown({ signature, text }: Explanation): HTMLElement {
  const whole = document.createElement('div');
  whole.className = 'type-help';
  const head = document.createElement('code');
  head.textContent = signature;
  const body = document.createElement('p');
  body.textContent = text;
  whole.append(head, ...(text === '' ? [] : [body]));
  return whole;
}
