// Until 2025-03-21 a zone has the setting `cname_flattening` where it now has `flatten_all_cnames`.
//
// `off` and `apex` mean the same and become false; false is shown as `off`. In a list of settings, its
// items are removed from the call, and inserted into the answer at their old places.

import { type Answer, apiError, type Call } from '../call/call.ts';
import type { ErrorEntry } from '../call/error-codes.ts';
import { matchPath } from '../schedule/paths.ts';
import { type Change, type Fields, movedPath } from './change.ts';

const ID = 'cname_flattening';
const SETTING = `/zones/:zone_id/settings/${ID}`;

export const cnameFlattening: Change = {
  id: 'cname-flattening',
  request(call) {
    if (isOne(call)) return toDnsSettings(call);
    return call.method === 'PATCH' ? takenOut(call) : call;
  },

  response(answer, call) {
    const isMany = !isOne(call) && call.method === 'PATCH';
    if (answer.status >= 400) return isMany ? refusedAt(answer, call) : answer;
    if (isOne(call)) return { ...answer, result: setting(answer.result as Fields) };
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
    isOwn(item) ? setting({ flatten_all_cnames: flattensAll(item.value, '') }) : others.shift(),
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

function setting({ flatten_all_cnames }: Fields): Fields {
  return { id: ID, value: flatten_all_cnames ? 'on' : 'off', editable: true, modified_on: null };
}

function flattensAll(value: unknown, pointer: string): boolean {
  if (value === 'on') return true;
  if (value === 'off' || value === 'apex') return false;
  const name = value === undefined ? 'FIELD_MISSING' : 'FIELD_INVALID';
  throw apiError(name, `${ID} must be off, apex or on.`, pointer);
}
