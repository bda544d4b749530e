// Until 2024-05-31 the data of an SRV record has service, proto and name beside the outer name.
//
// Sent ones are ignored; shown ones are made from the outer name.

import type { Call } from '../call.ts';
import { SRV_NAME_FIELDS } from '../resources/dns-record-form.ts';
import { type Change, type ChangeContext, eachResult, type Fields } from './change.ts';
import { RECORD_OPERATIONS } from './record-operations.ts';

export const srvNameFields: Change = {
  id: 'srv-data-fields',
  operations: RECORD_OPERATIONS,
  request: async (call, context) => {
    const body = call.body as Fields | undefined;
    const data = body?.data;
    if (typeof data !== 'object' || data === null) return call;
    const type = body?.type ?? (await storedType(call, context));
    return type === 'SRV' ? { ...call, body: { ...body, data: without(data as Fields) } } : call;
  },
  response: (answer) =>
    eachResult(answer, (record) =>
      record.type === 'SRV'
        ? { ...record, data: { ...namesOf(String(record.name)), ...(record.data as Fields) } }
        : record,
    ),
};

/** A patch need not name the type of the record it changes. */
async function storedType({ method, path }: Call, context: ChangeContext): Promise<unknown> {
  if (method !== 'PATCH') return undefined;
  const record = (await context.read(path)) as Fields | null;
  return record?.type;
}

function without(data: Fields): Fields {
  const old: readonly string[] = SRV_NAME_FIELDS;
  return Object.fromEntries(Object.entries(data).filter(([field]) => !old.includes(field)));
}

function namesOf(name: string): Fields {
  const [service = '', proto = '', ...rest] = name.split('.');
  return { service, proto, name: rest.join('.') };
}
