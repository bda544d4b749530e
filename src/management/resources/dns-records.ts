// DNS records of a zone: list with filters and list pages, show, create, patch, replace, delete.

import { type Answer, apiError, fieldsOf, type RoutedCall, succeeded } from '../call/call.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { dnsName } from './dns-names.ts';
import { NULL_HOST, type WrittenRecord, writtenRecord } from './dns-record-form.ts';
import type { Collection, Filter, FilterKind, ItemStore } from './item-store.ts';

interface DnsRecord extends WrittenRecord {
  readonly id: string;
  readonly meta: object;
  readonly created_on: string;
  readonly modified_on: string;
}

const PAGE_SIZES = { usual: 100, most: 50_000 };
const TEXT_FIELDS = ['name', 'content', 'comment'];
const KINDS: readonly FilterKind[] = [
  'exact',
  'contains',
  'startswith',
  'endswith',
  'present',
  'absent',
];
const ORDERS = ['type', 'name', 'content', 'ttl', 'proxied'];
/** The fields that a patch is merged into. */
const WRITABLE = [
  'type',
  'name',
  'content',
  'data',
  'priority',
  'ttl',
  'proxied',
  'comment',
  'tags',
  'settings',
] as const satisfies readonly (keyof WrittenRecord)[];

export function listRecords(store: ItemStore, { query }: RoutedCall): Answer {
  const page = listPageOf(query, PAGE_SIZES);
  const { items, total } = records(store).find({
    filters: filtersOf(query),
    match: choice(query, 'match', ['all', 'any']) ?? 'all',
    order: choice(query, 'order', ORDERS),
    descending: choice(query, 'direction', ['asc', 'desc']) === 'desc',
    page,
  });
  return listPageAnswer(items, total, page);
}

export function showRecord(store: ItemStore, call: RoutedCall): Answer {
  return succeeded(known(store, call));
}

export function createRecord(store: ItemStore, call: RoutedCall): Answer {
  const written = writtenRecord(fieldsOf(call.body), call.zone!.name);
  refuseConflict(store, written);
  return succeeded(
    records(store).insert({
      id: call.ids[0]!,
      ...written,
      meta: {},
      created_on: call.nowIso,
      modified_on: call.nowIso,
    }),
  );
}

export function editRecord(store: ItemStore, call: RoutedCall): Answer {
  const record = known(store, call);
  const patch = fieldsOf(call.body);
  const before: Record<string, unknown> = {};
  for (const field of WRITABLE) before[field] = record[field];
  return succeeded(rewrite(store, call, record, { ...before, ...patch }));
}

export function replaceRecord(store: ItemStore, call: RoutedCall): Answer {
  return succeeded(rewrite(store, call, known(store, call), fieldsOf(call.body)));
}

export function removeRecord(store: ItemStore, call: RoutedCall): Answer {
  const { id } = known(store, call);
  records(store).remove(id);
  return succeeded({ id });
}

function rewrite(
  store: ItemStore,
  call: RoutedCall,
  { id, meta, created_on }: DnsRecord,
  fields: unknown,
): DnsRecord {
  const written = writtenRecord(fields, call.zone!.name);
  refuseConflict(store, written, id);
  return records(store).replace({ id, ...written, meta, created_on, modified_on: call.nowIso });
}

function known(store: ItemStore, { params }: RoutedCall): DnsRecord {
  const id = params.dns_record_id!;
  const record = records(store).get(id);
  if (record === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no DNS record ${id}.`);
  return record;
}

function records(store: ItemStore): Collection<DnsRecord> {
  return store.collection('dns_records');
}

/** Finds conflicting records by name, type and content: an index makes it cheap with many records. */
function refuseConflict(store: ItemStore, written: WrittenRecord, exceptId = ''): void {
  const { name, type, content, priority } = written;
  const other = (...more: Filter[]) =>
    records(store).first([
      { field: 'name', kind: 'is', value: name },
      ...more,
      { field: 'id', kind: 'is not', value: exceptId },
    ]);
  const twin = other(
    { field: 'type', kind: 'is', value: type },
    { field: 'content', kind: 'is', value: content },
    ...(priority === undefined
      ? []
      : [{ field: 'priority', kind: 'is', value: priority } satisfies Filter]),
  );
  if (twin) throw apiError('RECORD_EXISTS', `An identical record exists: ${twin.id}.`);
  for (const excluded of EXCLUDED_BY.get(type) ?? []) {
    if (!other({ field: 'type', kind: 'is', value: excluded })) continue;
    const fact = `${name} already has a record of type ${excluded}`;
    throw apiError(
      'CNAME_CONFLICT',
      `${fact}; a CNAME must be the only record of its kind there.`,
      '/type',
    );
  }
  if (type !== 'MX') return;
  const mx: Filter = { field: 'type', kind: 'is', value: 'MX' };
  const isNull = content === NULL_HOST;
  const beside = isNull ? other(mx) : other(mx, { field: 'content', kind: 'is', value: NULL_HOST });
  if (beside)
    throw apiError(
      'MX_CONFLICT',
      `A null MX must be the only MX record of its name; ${beside.id} exists.`,
    );
}

/** Types of records that a name cannot have together with the type. */
const EXCLUDED_BY: ReadonlyMap<string, readonly string[]> = new Map([
  ['A', ['CNAME']],
  ['AAAA', ['CNAME']],
  ['CNAME', ['A', 'AAAA', 'CNAME']],
]);

/** `name=`, `name.contains=` or `name[contains]=`, and the same for content and comment. */
function filtersOf(query: RoutedCall['query']): Filter[] {
  const filters: Filter[] = [];
  for (const [key, value] of Object.entries(query)) {
    const [, field = '', kind = 'exact'] = /^(\w+)(?:[.[](\w+)\]?)?$/.exec(key) ?? [];
    if (field === 'type') filters.push({ field, kind: 'exact', value });
    if (field === 'proxied')
      filters.push({ field, kind: 'exact', value: value === 'true' ? '1' : '0' });
    if (field === 'search') filters.push({ field: TEXT_FIELDS, kind: 'contains', value });
    if (TEXT_FIELDS.includes(field) && (KINDS as readonly string[]).includes(kind)) {
      const isName = field === 'name' && kind === 'exact';
      const wanted = isName ? (dnsName(value) ?? value) : value;
      filters.push({ field, kind: isName ? 'is' : (kind as FilterKind), value: wanted });
    }
  }
  return filters;
}

function choice<const T extends string>(
  query: RoutedCall['query'],
  name: string,
  values: readonly T[],
): T | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  if ((values as readonly string[]).includes(value)) return value as T;
  throw apiError('FIELD_INVALID', `${name} is "${value}"; it must be ${values.join(' or ')}.`);
}
