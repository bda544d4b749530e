// Completion of the members that objects use most: `this.ctx`, `ctx.storage`, its `sql` and `kv`.
//
// The suggestions come from this package's declarations, so they are always current.

import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import objectTypes from '../../src/shared/contract/object.ts?raw';
import storageTypes from '../../src/shared/contract/storage.ts?raw';

/** The interface behind the end of an expression. */
const TYPES: readonly (readonly [RegExp, string])[] = [
  [/\bstorage\.sql\.$/, 'SqlStorage'],
  [/\bsql\.$/, 'SqlStorage'],
  [/\b(?:storage\.)?kv\.$/, 'SyncKvStorage'],
  [/\bstorage\.$/, 'DurableObjectStorage'],
  [/\btxn\.$/, 'Transaction'],
  [/\bctx\.$/, 'DurableObjectState'],
  [/\bthis\.$/, 'this'],
  [/\.exec\([^;]*\)\s*\.$/, 'SqlStorageCursor'],
];

export function complete(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/\w*/);
  const from = word?.from ?? context.pos;
  const before = context.state.sliceDoc(Math.max(0, from - 300), from);
  const type = TYPES.find(([ending]) => ending.test(before))?.[1];
  if (type === undefined) return null;
  return { from, options: membersOf(type), validFor: /^\w*$/ };
}

const known = new Map<string, readonly Completion[]>([
  [
    'this',
    [
      { label: 'ctx', type: 'property', detail: 'DurableObjectState' },
      { label: 'env', type: 'property', detail: 'namespaces, and the values that the app passes' },
    ],
  ],
]);

function membersOf(type: string): readonly Completion[] {
  const found = known.get(type) ?? [...new Map(read(type).map((one) => [one.label, one])).values()];
  known.set(type, found);
  return found;
}

function read(type: string): Completion[] {
  const text = `${storageTypes}\n${objectTypes}`;
  const [, head = '', body = ''] =
    new RegExp(`export interface ${type}\\b([^{]*)\\{\\n([\\s\\S]*?)\\n\\}`).exec(text) ?? [];
  const parents = /extends ([^{]*)/.exec(head)?.[1]?.split(',') ?? [];
  const own = [
    ...body.matchAll(/(?:^ {2}\/\*\*([\s\S]*?)\*\/\n)?^ {2}(?:readonly )?(\w+)([^\n]*)/gm),
  ].map(([, doc, label = '', rest = '']): Completion => {
    const info = doc?.replaceAll(/\s*\n\s*\*?\s*/g, ' ').trim();
    const isMethod = /^[<(]/.test(rest);
    return {
      label,
      type: isMethod ? 'method' : 'property',
      detail: rest.replace(/;$/, '').replace(/^<[^(]*>(?=\()/, ''),
      ...(info !== undefined && { info }),
    };
  });
  return [...own, ...parents.flatMap((parent) => read(parent.trim().replace(/<.*/, '')))];
}
