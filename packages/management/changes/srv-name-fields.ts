// Until 2024-05-31 the data of an SRV record has service, proto and name, which form its name.
//
// An outer name that begins with a service and a protocol is complete, as it is after that date; an outer
// name without them is the base name. In answers, the fields are derived from the name.

import type { Call } from '../call/call.ts';
import { isServiceName, SRV_NAME_FIELDS } from '../resources/dns-record-form.ts';
import { type Change, type ChangeContext, eachResult, type Fields } from './change.ts';

type Names = Partial<Record<(typeof SRV_NAME_FIELDS)[number], string>>;

export const srvNameFields: Change = {
  id: 'srv-data-fields',
  request: async (call, context) => {
    const body = call.body as Fields | undefined;
    const data = body?.data;
    if (typeof data !== 'object' || data === null) return call;
    const stored = await storedRecord(call, context);
    if ((body!.type ?? stored?.type) !== 'SRV') return call;
    const name = nameFrom(body!.name, data as Fields, stored, call.zone!.name);
    const rest = { ...body, data: without(data as Fields) };
    return { ...call, body: name === undefined ? rest : { ...rest, name } };
  },
  response: (answer) =>
    eachResult(answer, (record) =>
      record.type === 'SRV'
        ? { ...record, data: { ...namesOf(String(record.name)), ...(record.data as Fields) } }
        : record,
    ),
};

/** The record that a patch changes; the patch may omit stored fields. */
async function storedRecord(
  { method, path }: Call,
  context: ChangeContext,
): Promise<Fields | undefined> {
  return method === 'PATCH' ? ((await context.read(path)) as Fields) : undefined;
}

/** The full name, invalid if a part is missing; undefined leaves the name unchanged. */
function nameFrom(
  outer: unknown,
  data: Fields,
  stored: Fields | undefined,
  zoneName: string,
): string | undefined {
  if (outer !== undefined && (typeof outer !== 'string' || isServiceName(outer))) return undefined;
  const sent = stringsOf(data);
  if (Object.keys(sent).length === 0) return undefined;
  const before = stored?.type === 'SRV' ? namesOf(String(stored.name)) : {};
  const { service = '', proto = '', name }: Names = { ...before, ...sent };
  const base = outer ?? name ?? '@';
  return [service, proto, base === '@' ? zoneName : base].join('.');
}

function stringsOf(data: Fields): Names {
  const named = SRV_NAME_FIELDS.filter((field) => typeof data[field] === 'string');
  return Object.fromEntries(named.map((field) => [field, data[field]])) as Names;
}

function without(data: Fields): Fields {
  const old: readonly string[] = SRV_NAME_FIELDS;
  return Object.fromEntries(Object.entries(data).filter(([field]) => !old.includes(field)));
}

function namesOf(name: string): Names {
  if (!isServiceName(name)) return { name };
  const [service, proto, ...rest] = name.split('.');
  return { service: service!, proto: proto!, name: rest.join('.') };
}
