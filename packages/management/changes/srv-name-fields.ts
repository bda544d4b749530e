// Until 2024-05-31, the data of an SRV record has the fields service, proto and name, which form its name.
//
// If the record's own field `name` begins with a service and a protocol, it is the complete name, as it is after that
// date; otherwise it is only the base name. In answers, the three fields are derived from the name.

import type { Call } from '../call/call.ts';
import { isServiceName, SRV_NAME_FIELDS } from '../resources/dns-record-form.ts';
import { type Change, type ChangeContext, type Fields, mapResult } from './change.ts';

type NameFields = Partial<Record<(typeof SRV_NAME_FIELDS)[number], string>>;

export const srvNameFields: Change = {
  id: 'srv-data-fields',
  request: async (call, context) => {
    const body = call.body as Fields | undefined;
    const data = body?.data;
    if (typeof data !== 'object' || data === null) return call;
    const stored = await storedRecord(call, context);
    if ((body!.type ?? stored?.type) !== 'SRV') return call;
    const name = fullNameFrom(body!.name, data as Fields, stored, call.zone!.name);
    const rest = { ...body, data: withoutNameFields(data as Fields) };
    return { ...call, body: name === undefined ? rest : { ...rest, name } };
  },
  response: (answer) =>
    mapResult(answer, (record) =>
      record.type === 'SRV'
        ? {
            ...record,
            data: { ...splitServiceName(String(record.name)), ...(record.data as Fields) },
          }
        : record,
    ),
};

/**
 * Reads the record that a patch changes, because the patch may omit stored fields. For other methods, returns
 * undefined.
 */
async function storedRecord(
  { method, path }: Call,
  context: ChangeContext,
): Promise<Fields | undefined> {
  return method === 'PATCH' ? ((await context.read(path)) as Fields) : undefined;
}

/**
 * Returns the full name, which is invalid if a part is missing. The result undefined means that the name in the call
 * stays unchanged.
 */
function fullNameFrom(
  recordName: unknown,
  data: Fields,
  stored: Fields | undefined,
  zoneName: string,
): string | undefined {
  if (recordName !== undefined && (typeof recordName !== 'string' || isServiceName(recordName)))
    return undefined;
  const sent = sentNameFields(data);
  if (Object.keys(sent).length === 0) return undefined;
  const before = stored?.type === 'SRV' ? splitServiceName(String(stored.name)) : {};
  const { service = '', proto = '', name }: NameFields = { ...before, ...sent };
  const base = recordName ?? name ?? '@';
  return [service, proto, base === '@' ? zoneName : base].join('.');
}

function sentNameFields(data: Fields): NameFields {
  const named = SRV_NAME_FIELDS.filter((field) => typeof data[field] === 'string');
  return Object.fromEntries(named.map((field) => [field, data[field]])) as NameFields;
}

function withoutNameFields(data: Fields): Fields {
  const old: readonly string[] = SRV_NAME_FIELDS;
  return Object.fromEntries(Object.entries(data).filter(([field]) => !old.includes(field)));
}

function splitServiceName(name: string): NameFields {
  if (!isServiceName(name)) return { name };
  const [service, proto, ...rest] = name.split('.');
  return { service: service!, proto: proto!, name: rest.join('.') };
}
