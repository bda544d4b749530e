// Load balancer pools of an account or of the user. They balance no traffic and check no server.
//
// Fields and their limits follow the types of the npm package `cloudflare` (3.5.0 and 7.3.0).

import * as v from 'valibot';
import { type Answer, apiError, fieldsOf, type RoutedCall, successAnswer } from '../call/call.ts';
import { listQuery } from '../call/list-query.ts';
import { listPageAnswer, listPageOf } from '../call/paging.ts';
import { validate } from '../call/validation.ts';
import type { Collection, Filter, Item, ItemStore } from './item-store.ts';

/** The name in `admitted` that marks calls for which `notification_email` still exists. */
export const NOTIFICATION_EMAIL = 'field notification_email';

const NO_ADDRESS = '';
/** The field's value: one address, several separated by commas, or empty. */
const addresses = v.pipe(
  v.string(),
  v.check(
    (text) => text === NO_ADDRESS || text.split(',').every((part) => v.is(address, part.trim())),
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

/** The body of a patch of all pools, which can only remove the addresses. */
const AllPatch = v.object({ notification_email: v.literal(NO_ADDRESS) });

interface Pool extends Item, v.InferOutput<typeof PoolForm> {
  readonly created_on: string;
  readonly modified_on: string;
}

const PAGE_SIZES = { defaultSize: 50, maxSize: 1000 };

export function listPools(store: ItemStore, call: RoutedCall): Answer {
  const query = listQuery(call, { texts: ['monitor'] });
  const page = listPageOf(query, PAGE_SIZES);
  const { monitor } = query;
  const filters: Filter[] =
    monitor === undefined ? [] : [{ field: 'monitor', kind: 'is', value: monitor }];
  const { items, total } = pools(store).find({ filters, order: 'name', page });
  return listPageAnswer(
    items.map((pool) => forClients(call, pool)),
    total,
    page,
  );
}

export function showPool(store: ItemStore, call: RoutedCall): Answer {
  return successAnswer(forClients(call, existingPool(store, call)));
}

export function createPool(store: ItemStore, call: RoutedCall): Answer {
  const form = validate(PoolForm, withoutRetiredFields(call, fieldsOf(call.body)));
  const times = { created_on: call.nowIso, modified_on: call.nowIso };
  return successAnswer(
    forClients(call, pools(store).insert({ id: call.ids[0]!, ...form, ...times })),
  );
}

export function editPool(store: ItemStore, call: RoutedCall): Answer {
  const pool = existingPool(store, call);
  return checkAndReplace(store, call, pool, {
    ...pool,
    ...withoutRetiredFields(call, fieldsOf(call.body)),
  });
}

/** Replaces a pool. It keeps the stored addresses if the field does not exist on the day of the call. */
export function replacePool(store: ItemStore, call: RoutedCall): Answer {
  const pool = existingPool(store, call);
  const { notification_email } = pool;
  const keptFields = hasNotificationEmail(call) ? {} : { notification_email };
  return checkAndReplace(store, call, pool, {
    ...withoutRetiredFields(call, fieldsOf(call.body)),
    ...keptFields,
  });
}

export function editPools(store: ItemStore, call: RoutedCall): Answer {
  const patch = hasNotificationEmail(call) ? validate(AllPatch, call.body) : {};
  const changed = pools(store)
    .find({ order: 'name' })
    .items.map((pool) => pools(store).replace({ ...pool, ...patch, modified_on: call.nowIso }));
  return successAnswer(changed.map((pool) => forClients(call, pool)));
}

export function removePool(store: ItemStore, call: RoutedCall): Answer {
  const { id } = existingPool(store, call);
  pools(store).remove(id);
  return successAnswer({ id });
}

function checkAndReplace(store: ItemStore, call: RoutedCall, pool: Pool, fields: object): Answer {
  const form = validate(PoolForm, fields);
  const { id, created_on } = pool;
  const changed = { id, ...form, created_on, modified_on: call.nowIso };
  return successAnswer(forClients(call, pools(store).replace(changed)));
}

function withoutRetiredFields(call: RoutedCall, fields: object): object {
  if (hasNotificationEmail(call)) return fields;
  const { notification_email, ...rest } = fields as { notification_email?: unknown };
  return rest;
}

function hasNotificationEmail({ admitted }: RoutedCall): boolean {
  return admitted.includes(NOTIFICATION_EMAIL);
}

function forClients(call: RoutedCall, pool: Pool): object {
  return withoutRetiredFields(call, pool);
}

function existingPool(store: ItemStore, { params }: RoutedCall): Pool {
  const id = params.pool_id!;
  const pool = pools(store).get(id);
  if (pool === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no pool ${id}.`);
  return pool;
}

function pools(store: ItemStore): Collection<Pool> {
  return store.collection('load_balancers/pools');
}
