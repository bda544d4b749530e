// Until 2025-03-21 a zone has the setting `cname_flattening` where it now has `flatten_all_cnames`.
//
// `off` and `apex` mean the same and become false; false is shown as `off`. The words of the npm package
// `cloudflare` and of Terraform are taken as well, and shown in the answer to the call that sends them.
// In a list of settings, its items are removed from the call, and inserted into the answer at their old places.

import { type Answer, apiError, type Call } from '../call/call.ts';
import type { ErrorEntry } from '../call/error-codes.ts';
import { matchPath } from '../schedule/paths.ts';
import { type Change, type Fields, movedPath } from './change.ts';

const ID = 'cname_flattening';
const SETTING = `/zones/:zone_id/settings/${ID}`;

/** Whether a value flattens all names. A map, because values come from requests. */
const FLATTENS_ALL: ReadonlyMap<unknown, boolean> = new Map([
  ['off', false],
  ['apex', false],
  ['on', true],
]);

/** The words of client libraries. */
const ALIASES: ReadonlyMap<unknown, boolean> = new Map([
  ['flatten_at_root', false],
  ['flatten_all', true],
]);

export const cnameFlattening: Change = {
  id: 'cname-flattening',
  request(call) {
    if (isOne(call)) return toDnsSettings(call);
    return call.method === 'PATCH' ? takenOut(call) : call;
  },

  response(answer, call) {
    const isMany = !isOne(call) && call.method === 'PATCH';
    if (answer.status >= 400) return isMany ? refusedAt(answer, call) : answer;
    if (isOne(call)) {
      const sent = (call.body as Fields | undefined)?.value;
      return { ...answer, result: setting(answer.result as Fields, sent) };
    }
    return isMany ? answered(answer, call) : listed(answer);
  },
};

function isOne({ path }: Call): boolean {
  return matchPath(SETTING, path) !== undefined;
}

function toDnsSettings(call: Call): Call {
  const path = movedPath(call.path, SETTING, '/zones/:zone_id/dns_settings');
  if (call.method === 'GET') return { ...call, path };
  const value = (call.body as Fields | undefined)?.value;
  return { ...call, path, body: { flatten_all_cnames: flattensAll(value, '/value') } };
}

/** If several items name this setting, the last one applies, as if they were written one by one. */
function takenOut(call: Call): Call {
  const items = itemsOf(call);
  let flatten_all_cnames: boolean | undefined;
  for (const [index, item] of items.entries()) {
    if (isOwn(item)) flatten_all_cnames = flattensAll(item.value, `/items/${index}/value`);
  }
  if (flatten_all_cnames === undefined) return call;
  const others = items.filter((item) => !isOwn(item));
  const body = { ...(call.body as Fields), items: others };
  return { ...call, body, dnsSettings: { flatten_all_cnames } };
}

function itemsOf({ body }: Call): readonly unknown[] {
  const items = (body as { readonly items?: unknown } | null | undefined)?.items;
  return Array.isArray(items) ? items : [];
}

function isOwn(item: unknown): item is Fields {
  return (item as Fields | null)?.id === ID;
}

function listed(answer: Answer): Answer {
  const [dnsSettings] = answer.dnsSettings as readonly Fields[];
  const settings = [...(answer.result as Fields[]), setting(dnsSettings!)];
  settings.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
  return { ...answer, result: settings };
}

function answered(answer: Answer, call: Call): Answer {
  const others = [...(answer.result as Fields[])];
  const result = itemsOf(call).map((item) =>
    isOwn(item)
      ? setting({ flatten_all_cnames: flattensAll(item.value, '') }, item.value)
      : others.shift(),
  );
  return { ...answer, result };
}

/** The refusal, with pointers into the list as the client sent it. */
function refusedAt(answer: Answer, call: Call): Answer {
  const places = [...itemsOf(call).entries()].flatMap(([i, item]) => (isOwn(item) ? [] : [i]));
  const moved = (entry: ErrorEntry): ErrorEntry => {
    const [, index, rest] = /^\/items\/(\d+)(.*)$/s.exec(entry.source?.pointer ?? '') ?? [];
    if (index === undefined) return entry;
    return { ...entry, source: { pointer: `/items/${places[Number(index)]}${rest}` } };
  };
  return { ...answer, errors: answer.errors.map(moved) };
}

/** `sent`: the value in the call, if it had one. */
function setting({ flatten_all_cnames }: Fields, sent?: unknown): Fields {
  const value = ALIASES.has(sent) ? sent : flatten_all_cnames ? 'on' : 'off';
  return { id: ID, value, editable: true, modified_on: null };
}

function flattensAll(value: unknown, pointer: string): boolean {
  const known = FLATTENS_ALL.get(value) ?? ALIASES.get(value);
  if (known !== undefined) return known;
  const name = value === undefined ? 'FIELD_MISSING' : 'FIELD_INVALID';
  const words = 'off, apex or on, or a word of client libraries: flatten_at_root, flatten_all';
  throw apiError(name, `${ID} must be ${words}.`, pointer);
}
