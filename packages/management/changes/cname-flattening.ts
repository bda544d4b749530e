// Until 2025-03-21, a zone has the setting `cname_flattening`, which became the field `flatten_all_cnames` of its DNS
// settings.
//
// `off` and `apex` mean the same: both become false, and false is read as `off`. The values that the npm package
// `cloudflare` and Terraform send are accepted too, and repeated in the answer to the call that sends them. If a call
// writes several settings, the items of this one are removed from the call, and inserted into the answer at their
// old positions.

import { type Answer, apiError, type Call } from '../call/call.ts';
import type { ErrorEntry } from '../call/error-codes.ts';
import { matchPath } from '../schedule/paths.ts';
import { type Change, convertPath, type Fields } from './change.ts';

const ID = 'cname_flattening';
const SETTING = `/zones/:zone_id/settings/${ID}`;

/**
 * Maps each value of the setting to whether it flattens the CNAME records of all names. This is a Map, because values
 * come from requests and could name members of an object.
 */
const FLATTENS_ALL: ReadonlyMap<unknown, boolean> = new Map([
  ['off', false],
  ['apex', false],
  ['on', true],
]);

/** The values that client libraries send, and whether each flattens the records of all names. */
const ALIASES: ReadonlyMap<unknown, boolean> = new Map([
  ['flatten_at_root', false],
  ['flatten_all', true],
]);

export const cnameFlattening: Change = {
  id: 'cname-flattening',
  request(call) {
    if (isSingleSetting(call)) return toDnsSettings(call);
    return call.method === 'PATCH' ? withoutOwnItems(call) : call;
  },

  response(answer, call) {
    const isMany = !isSingleSetting(call) && call.method === 'PATCH';
    if (answer.status >= 400) return isMany ? withClientPointers(answer, call) : answer;
    if (isSingleSetting(call)) {
      const sent = (call.body as Fields | undefined)?.value;
      return { ...answer, result: settingItem(answer.result as Fields, sent) };
    }
    return isMany ? withSettingInAnswer(answer, call) : withSettingInList(answer);
  },
};

function isSingleSetting({ path }: Call): boolean {
  return matchPath(SETTING, path) !== undefined;
}

function toDnsSettings(call: Call): Call {
  const path = convertPath(call.path, SETTING, '/zones/:zone_id/dns_settings');
  if (call.method === 'GET') return { ...call, path };
  const value = (call.body as Fields | undefined)?.value;
  return { ...call, path, body: { flatten_all_cnames: parseValue(value, '/value') } };
}

/**
 * Removes the items of this setting from the call, and adds their value as a patch of the DNS settings. If several
 * items name the setting, the last one applies.
 */
function withoutOwnItems(call: Call): Call {
  const items = itemsOf(call);
  let flatten_all_cnames: boolean | undefined;
  for (const [index, item] of items.entries()) {
    if (isCnameFlattening(item))
      flatten_all_cnames = parseValue(item.value, `/items/${index}/value`);
  }
  if (flatten_all_cnames === undefined) return call;
  const others = items.filter((item) => !isCnameFlattening(item));
  const body = { ...(call.body as Fields), items: others };
  return { ...call, body, dnsSettings: { flatten_all_cnames } };
}

function itemsOf({ body }: Call): readonly unknown[] {
  const items = (body as { readonly items?: unknown } | null | undefined)?.items;
  return Array.isArray(items) ? items : [];
}

function isCnameFlattening(item: unknown): item is Fields {
  return (item as Fields | null)?.id === ID;
}

function withSettingInList(answer: Answer): Answer {
  const [dnsSettings] = answer.dnsSettings as readonly Fields[];
  const settings = [...(answer.result as Fields[]), settingItem(dnsSettings!)];
  settings.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
  return { ...answer, result: settings };
}

function withSettingInAnswer(answer: Answer, call: Call): Answer {
  const others = [...(answer.result as Fields[])];
  const result = itemsOf(call).map((item) =>
    isCnameFlattening(item)
      ? settingItem({ flatten_all_cnames: parseValue(item.value, '') }, item.value)
      : others.shift(),
  );
  return { ...answer, result };
}

/** Corrects the pointers of the errors, so that they count the items as the client sent them. */
function withClientPointers(answer: Answer, call: Call): Answer {
  const clientIndexes = [...itemsOf(call).entries()].flatMap(([i, item]) =>
    isCnameFlattening(item) ? [] : [i],
  );
  const withClientPointer = (entry: ErrorEntry): ErrorEntry => {
    const [, index, rest] = /^\/items\/(\d+)(.*)$/s.exec(entry.source?.pointer ?? '') ?? [];
    if (index === undefined) return entry;
    return { ...entry, source: { pointer: `/items/${clientIndexes[Number(index)]}${rest}` } };
  };
  return { ...answer, errors: answer.errors.map(withClientPointer) };
}

/** Makes the setting as an item of an answer; `sent` is the value in the call, if it had one. */
function settingItem({ flatten_all_cnames }: Fields, sent?: unknown): Fields {
  const value = ALIASES.has(sent) ? sent : flatten_all_cnames ? 'on' : 'off';
  return { id: ID, value, editable: true, modified_on: null };
}

function parseValue(value: unknown, pointer: string): boolean {
  const known = FLATTENS_ALL.get(value) ?? ALIASES.get(value);
  if (known !== undefined) return known;
  const name = value === undefined ? 'FIELD_MISSING' : 'FIELD_INVALID';
  const words = 'off, apex or on, or a word of client libraries: flatten_at_root, flatten_all';
  throw apiError(name, `${ID} must be ${words}.`, pointer);
}
