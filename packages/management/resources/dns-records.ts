// Lists, shows, creates, patches, replaces and deletes the DNS records of a zone.

import { type Answer, apiError, type RoutedCall, successAnswer } from '../call/call.ts';
import { type ListParameters, listQuery } from '../call/list-query.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { dnsName } from './dns-names.ts';
import {
  NULL_HOST,
  RECORD_TYPES,
  sentFields,
  type WrittenRecord,
  writtenRecord,
} from './dns-record-form.ts';
import type { Collection, Filter, FilterKind, ItemStore } from './item-store.ts';

interface DnsRecord extends WrittenRecord {
  readonly id: string;
  readonly meta: object;
  readonly created_on: string;
  readonly modified_on: string;
}

const PAGE_SIZES = { defaultSize: 100, maxSize: 50_000 };
const TEXT_FIELDS = ['name', 'content', 'comment'];
const TEXT_KINDS = ['exact', 'contains', 'startswith', 'endswith'] as const;
const PRESENCE_KINDS = ['present', 'absent'] as const;

/** The query parameters of the list: those of the npm package `cloudflare`, except for tags and shadow metadata. */
const LIST_PARAMETERS: ListParameters = {
  texts: [
    'search',
    ...TEXT_FIELDS.flatMap((field) => [field, ...TEXT_KINDS.map((kind) => `${field}.${kind}`)]),
  ],
  flags: PRESENCE_KINDS.map((kind) => `comment.${kind}`),
  words: {
    type: RECORD_TYPES,
    proxied: ['true', 'false'],
    order: ['type', 'name', 'content', 'ttl', 'proxied'],
    direction: ['asc', 'desc'],
    match: ['all', 'any'],
  },
};

/** The fields that the client writes, into which a patch is merged. */
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

export function listRecords(store: ItemStore, call: RoutedCall): Answer {
  const query = listQuery(call, LIST_PARAMETERS);
  const page = listPageOf(query, PAGE_SIZES);
  const { search } = query;
  const { items, total } = records(store).find({
    filters: filtersOf(query),
    match: query.match === 'any' ? 'any' : 'all',
    always: search === undefined ? [] : [{ field: TEXT_FIELDS, kind: 'contains', value: search }],
    order: query.order,
    descending: query.direction === 'desc',
    page,
  });
  return listPageAnswer(items, total, page);
}

export function showRecord(store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(existingRecord(store, call));
}

export function createRecord(store: ItemStore, call: RoutedCall): Answer {
  const written = writtenRecord(sentFields(call.body), call.zone!.name);
  refuseConflict(store, written);
  return successAnswer(
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
  const record = existingRecord(store, call);
  const patch = sentFields(call.body);
  const before: Record<string, unknown> = {};
  for (const field of WRITABLE) before[field] = record[field];
  return successAnswer(checkAndReplace(store, call, record, { ...before, ...patch }));
}

export function replaceRecord(store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(
    checkAndReplace(store, call, existingRecord(store, call), sentFields(call.body)),
  );
}

export function removeRecord(store: ItemStore, call: RoutedCall): Answer {
  const { id } = existingRecord(store, call);
  records(store).remove(id);
  return successAnswer({ id });
}

function checkAndReplace(
  store: ItemStore,
  call: RoutedCall,
  { id, meta, created_on }: DnsRecord,
  fields: unknown,
): DnsRecord {
  const written = writtenRecord(fields, call.zone!.name);
  refuseConflict(store, written, id);
  return records(store).replace({ id, ...written, meta, created_on, modified_on: call.nowIso });
}

function existingRecord(store: ItemStore, { params }: RoutedCall): DnsRecord {
  const id = params.dns_record_id!;
  const record = records(store).get(id);
  if (record === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no DNS record ${id}.`);
  return record;
}

function records(store: ItemStore): Collection<DnsRecord> {
  return store.collection('dns_records');
}

/**
 * Refuses a record that conflicts with another record. The other record is found by name, type and content, for which
 * there is an index.
 */
function refuseConflict(store: ItemStore, written: WrittenRecord, exceptId = ''): void {
  const { name, type, content, priority } = written;
  const findOther = (...more: Filter[]) =>
    records(store).first([
      { field: 'name', kind: 'is', value: name },
      ...more,
      { field: 'id', kind: 'is not', value: exceptId },
    ]);
  const twin = findOther(
    { field: 'type', kind: 'is', value: type },
    { field: 'content', kind: 'is', value: content },
    ...(priority === undefined
      ? []
      : [{ field: 'priority', kind: 'is', value: priority } satisfies Filter]),
  );
  if (twin) throw apiError('RECORD_EXISTS', `An identical record exists: ${twin.id}.`);
  for (const excluded of EXCLUDED_BY.get(type) ?? []) {
    if (!findOther({ field: 'type', kind: 'is', value: excluded })) continue;
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
  const conflicting = isNull
    ? findOther(mx)
    : findOther(mx, { field: 'content', kind: 'is', value: NULL_HOST });
  if (conflicting)
    throw apiError(
      'MX_CONFLICT',
      `A null MX must be the only MX record of its name; ${conflicting.id} exists.`,
    );
}

/** Maps each record type to the types that the same name cannot have. */
const EXCLUDED_BY: ReadonlyMap<string, readonly string[]> = new Map([
  ['A', ['CNAME']],
  ['AAAA', ['CNAME']],
  ['CNAME', ['A', 'AAAA', 'CNAME']],
]);

/**
 * Makes the filters of the list from `type=`, `proxied=`, and for each text field `name=`, `name.contains=` and the
 * other kinds.
 */
function filtersOf(query: RoutedCall['query']): Filter[] {
  const { type, proxied } = query;
  const filters: Filter[] = [];
  if (type !== undefined) filters.push({ field: 'type', kind: 'is', value: type });
  if (proxied !== undefined) {
    filters.push({ field: 'proxied', kind: 'is', value: proxied === 'true' ? 1 : 0 });
  }
  for (const field of TEXT_FIELDS) {
    for (const kind of [...TEXT_KINDS, ...PRESENCE_KINDS]) {
      const value = query[`${field}.${kind}`];
      if (value !== undefined) filters.push(textFilter(field, kind, value));
    }
    const exact = query[field];
    if (exact !== undefined) filters.push(textFilter(field, 'exact', exact));
  }
  return filters;
}

/** Makes a filter on a text field. An exact name is normalized first, because names are stored normalized. */
function textFilter(field: string, kind: FilterKind, value: string): Filter {
  const isName = field === 'name' && kind === 'exact';
  return isName ? { field, kind: 'is', value: dnsName(value) ?? value } : { field, kind, value };
}
