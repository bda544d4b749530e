// Until 2025-03-21 a zone has the setting `cname_flattening` where it now has `flatten_all_cnames`.
//
// `off` and `apex` mean the same and become false; false is shown as `off`.

import { type Answer, apiError, type Call } from '../call.ts';
import type { Change, ChangeContext, Fields } from './change.ts';

const ID = 'cname_flattening';

export const cnameFlattening: Change = {
  id: 'cname-flattening',
  request(call) {
    if (isOne(call)) return toDnsSettings(call);
    return call.method === 'PATCH' ? takenOut(call) : call;
  },

  async response(answer, call, context) {
    if (answer.status >= 400) return answer;
    if (isOne(call)) return { ...answer, result: setting(answer.result as Fields) };
    return call.method === 'GET' ? listed(answer, call, context) : answered(answer, call);
  },
};

function isOne({ path }: Call): boolean {
  return path.endsWith(`/${ID}`);
}

function toDnsSettings(call: Call): Call {
  const path = call.path.replace(/settings\/cname_flattening$/, 'dns_settings');
  if (call.method === 'GET') return { ...call, path };
  const value = (call.body as Fields | undefined)?.value;
  return { ...call, path, body: { flatten_all_cnames: flattensAll(value, '/value') } };
}

/** The setting among several, written together with the others. */
function takenOut(call: Call): Call {
  const body = call.body as { readonly items?: unknown } | undefined;
  const items = Array.isArray(body?.items) ? (body.items as (Fields | null)[]) : [];
  const index = items.findIndex((item) => item?.id === ID);
  if (index < 0) return call;
  const flatten = flattensAll(items[index]!.value, `/items/${index}/value`);
  const others = items.filter((item) => item?.id !== ID);
  return {
    ...call,
    body: { ...body, items: others },
    dnsSettings: { flatten_all_cnames: flatten },
  };
}

async function listed(answer: Answer, call: Call, context: ChangeContext): Promise<Answer> {
  const dnsSettings = await context.read(`/zones/${call.zone!.id}/dns_settings`);
  const settings = [...(answer.result as Fields[]), setting(dnsSettings as Fields)];
  settings.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
  return { ...answer, result: settings };
}

function answered(answer: Answer, call: Call): Answer {
  const { items } = call.body as { readonly items: Fields[] };
  const index = items.findIndex(({ id }) => id === ID);
  if (index < 0) return answer;
  const flatten_all_cnames = flattensAll(items[index]!.value, '');
  const result = [...(answer.result as Fields[])];
  result.splice(index, 0, setting({ flatten_all_cnames }));
  return { ...answer, result };
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
