// Health checks of a zone. Nothing is ever probed: the status stays unknown.

import * as v from 'valibot';
import { type Answer, apiError, fieldsOf, type RoutedCall, succeeded } from '../call.ts';
import type { Collection, Item, ItemStore } from '../objects/item-store.ts';
import { pageAnswer, pageOf } from '../paging.ts';
import { validate } from '../validation.ts';

/** The name under which a change admits `notification_email`. */
export const NOTIFICATION_EMAIL = 'field notification_email';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** One address, or several with commas between. */
const addresses = v.pipe(
  v.string(),
  v.check(
    (text) => text.split(',').every((part) => v.is(v.pipe(v.string(), v.email()), part.trim())),
    'must be one address or a comma-delimited list',
  ),
);
const port = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535));

const CheckForm = v.object({
  name: v.pipe(v.string(), v.regex(/^[\w-]+$/)),
  address: v.pipe(v.string(), v.nonEmpty()),
  type: v.optional(v.picklist(['HTTP', 'HTTPS', 'TCP']), 'HTTP'),
  description: v.optional(v.string(), ''),
  check_regions: v.optional(v.nullable(v.array(v.string())), null),
  consecutive_fails: v.optional(count, 1),
  consecutive_successes: v.optional(count, 1),
  interval: v.optional(count, 60),
  retries: v.optional(count, 2),
  timeout: v.optional(count, 5),
  suspended: v.optional(v.boolean(), false),
  http_config: v.optional(
    v.nullable(
      v.looseObject({
        method: v.optional(v.picklist(['GET', 'HEAD'])),
        path: v.optional(v.string()),
        port: v.optional(port),
        follow_redirects: v.optional(v.boolean()),
        allow_insecure: v.optional(v.boolean()),
      }),
    ),
    null,
  ),
  tcp_config: v.optional(
    v.nullable(v.looseObject({ method: v.optional(v.string()), port: v.optional(port) })),
    null,
  ),
  notification_email: v.optional(addresses),
});

type Check = v.InferOutput<typeof CheckForm> &
  Item & { readonly status: string; readonly created_on: string; readonly modified_on: string };

const PAGE_SIZES = { usual: 25, most: 1000 };

export function listHealthchecks(store: ItemStore, call: RoutedCall): Answer {
  const page = pageOf(call.query, PAGE_SIZES);
  const { items, total } = checks(store).find({ page });
  return pageAnswer(
    items.map((check) => shown(call, check)),
    total,
    page,
  );
}

export function showHealthcheck(store: ItemStore, call: RoutedCall): Answer {
  return succeeded(shown(call, known(store, call)));
}

export function createHealthcheck(store: ItemStore, call: RoutedCall): Answer {
  const form = validate(CheckForm, withoutOldFields(call, fieldsOf(call.body)));
  const check = {
    id: call.ids[0]!,
    ...form,
    status: 'unknown',
    created_on: call.nowIso,
    modified_on: call.nowIso,
  };
  return succeeded(shown(call, checks(store).insert(check)));
}

export function editHealthcheck(store: ItemStore, call: RoutedCall): Answer {
  const check = known(store, call);
  return rewrite(store, call, check, { ...check, ...withoutOldFields(call, fieldsOf(call.body)) });
}

/** A replacement keeps the addresses of a caller who cannot see them. */
export function replaceHealthcheck(store: ItemStore, call: RoutedCall): Answer {
  const check = known(store, call);
  const { notification_email } = check;
  const hidden = call.admitted.includes(NOTIFICATION_EMAIL) ? {} : { notification_email };
  return rewrite(store, call, check, {
    ...withoutOldFields(call, fieldsOf(call.body)),
    ...hidden,
  });
}

export function removeHealthcheck(store: ItemStore, call: RoutedCall): Answer {
  const { id } = known(store, call);
  checks(store).remove(id);
  return succeeded({ id });
}

function rewrite(store: ItemStore, call: RoutedCall, check: Check, fields: object): Answer {
  const form = validate(CheckForm, fields);
  const { id, status, created_on } = check;
  const changed = { id, ...form, status, created_on, modified_on: call.nowIso };
  return succeeded(shown(call, checks(store).replace(changed)));
}

function withoutOldFields(call: RoutedCall, fields: object): object {
  if (call.admitted.includes(NOTIFICATION_EMAIL)) return fields;
  const { notification_email, ...rest } = fields as { notification_email?: unknown };
  return rest;
}

function shown(call: RoutedCall, check: Check): object {
  return withoutOldFields(call, check);
}

function known(store: ItemStore, { params }: RoutedCall): Check {
  const id = params.healthcheck_id!;
  const check = checks(store).get(id);
  if (check === undefined) throw apiError('RESOURCE_UNKNOWN', `There is no health check ${id}.`);
  return check;
}

function checks(store: ItemStore): Collection<Check> {
  return store.collection('healthchecks');
}
