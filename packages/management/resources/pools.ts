// Load balancer pools of an account or of the user. They balance no traffic and probe nothing.
//
// Fields and their limits follow the types of the npm package `cloudflare` (3.5.0 and 7.3.0).

import * as v from 'valibot';
import { type Answer, apiError, fieldsOf, type RoutedCall, succeeded } from '../call/call.ts';
import { listQuery } from '../call/list-query.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { validate } from '../call/validation.ts';
import type { Collection, Filter, Item, ItemStore } from './item-store.ts';

/** The feature that a change admits for `notification_email` to exist. */
export const NOTIFICATION_EMAIL = 'field notification_email';

const NONE = '';
/** One address, several separated by commas, or empty. */
const addresses = v.pipe(
  v.string(),
  v.check(
    (text) => text === NONE || text.split(',').every((part) => v.is(address, part.trim())),
    'must be one address or a comma-delimited list',
  ),
);
const address = v.pipe(v.string(), v.email());
const latitude = v.pipe(v.number(), v.minValue(-90), v.maxValue(90));
const longitude = v.pipe(v.number(), v.minValue(-180), v.maxValue(180));

const Origin = v.looseObject({
  name: v.optional(v.string()),
  address: v.optional(v.string()),
  enabled: v.optional(v.boolean(), true),
  weight: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
});

const PoolForm = v.object({
  name: v.pipe(v.string(), v.regex(/^[\w-]+$/)),
  origins: v.array(Origin),
  description: v.optional(v.string(), ''),
  enabled: v.optional(v.boolean(), true),
  minimum_origins: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 1),
  monitor: v.optional(v.nullable(v.string())),
  check_regions: v.optional(v.nullable(v.array(v.string())), null),
  latitude: v.optional(latitude),
  longitude: v.optional(longitude),
  load_shedding: v.optional(v.looseObject({})),
  origin_steering: v.optional(v.looseObject({})),
  notification_filter: v.optional(v.nullable(v.looseObject({}))),
  notification_email: v.optional(addresses),
});

/** A patch of all pools can only remove the addresses. */
const AllPatch = v.object({ notification_email: v.literal(NONE) });

interface Pool extends Item, v.InferOutput<typeof PoolForm> {
  readonly created_on: string;
  readonly modified_on: string;
}

const PAGE_SIZES = { usual: 50, most: 1000 };

export function listPools(store: ItemStore, call: RoutedCall): Answer {
  const query = listQuery(call, { texts: ['monitor'] });
  const page = listPageOf(query, PAGE_SIZES);
  const { monitor } = query;
  const filters: Filter[] =
    monitor === undefined ? [] : [{ field: 'monitor', kind: 'is', value: monitor }];
  const { items, total } = pools(store).find({ filters, order: 'name', page });
  return listPageAnswer(
    items.map((pool) => shown(call, pool)),
    total,
    page,
  );
}

export function showPool(store: ItemStore, call: RoutedCall): Answer {
  return succeeded(shown(call, known(store, call)));
}

export function createPool(store: ItemStore, call: RoutedCall): Answer {
  const form = validate(PoolForm, withoutOldFields(call, fieldsOf(call.body)));
  const times = { created_on: call.nowIso, modified_on: call.nowIso };
  return succeeded(shown(call, pools(store).insert({ id: call.ids[0]!, ...form, ...times })));
}

export function editPool(store: ItemStore, call: RoutedCall): Answer {
  const pool = known(store, call);
  return rewrite(store, call, pool, { ...pool, ...withoutOldFields(call, fieldsOf(call.body)) });
}

/** A replacement keeps the addresses if the caller cannot see them. */
export function replacePool(store: ItemStore, call: RoutedCall): Answer {
  const pool = known(store, call);
  const { notification_email } = pool;
  const hidden = isAdmitted(call) ? {} : { notification_email };
  return rewrite(store, call, pool, {
    ...withoutOldFields(call, fieldsOf(call.body)),
    ...hidden,
  });
}

export function editPools(store: ItemStore, call: RoutedCall): Answer {
  const patch = isAdmitted(call) ? validate(AllPatch, call.body) : {};
  const changed = pools(store)
    .find({ order: 'name' })
    .items.map((pool) => pools(store).replace({ ...pool, ...patch, modified_on: call.nowIso }));
  return succeeded(changed.map((pool) => shown(call, pool)));
}

export function removePool(store: ItemStore, call: RoutedCall): Answer {
  const { id } = known(store, call);
  pools(store).remove(id);
  return succeeded({ id });
}

function rewrite(store: ItemStore, call: RoutedCall, pool: Pool, fields: object): Answer {
  const form = validate(PoolForm, fields);
  const { id, created_on } = pool;
  const changed = { id, ...form, created_on, modified_on: call.nowIso };
  return succeeded(shown(call, pools(store).replace(changed)));
}

function withoutOldFields(call: RoutedCall, fields: object): object {
  if (isAdmitted(call)) return fields;
  const { notification_email, ...rest } = fields as { notification_email?: unknown };
  return rest;
}

function isAdmitted({ admitted }: RoutedCall): boolean {
  return admitted.includes(NOTIFICATION_EMAIL);
}

function shown(call: RoutedCall, pool: Pool): object {
  return withoutOldFields(call, pool);
}

function known(store: ItemStore, { params }: RoutedCall): Pool {
  const id = params.pool_id!;
  const pool = pools(store).get(id);
  if (pool === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no pool ${id}.`);
  return pool;
}

function pools(store: ItemStore): Collection<Pool> {
  return store.collection('load_balancers/pools');
}
