// Tasks of the provider's clients. A task calls the SDK's method if the version has one, and otherwise sends a raw
// request. A task that does not throw works on that day.

import type Cloudflare from 'cloudflare';

export interface TaskContext {
  readonly client: Cloudflare;
  /** The major version of the SDK. Before version 4, a few methods take their arguments in another order. */
  readonly major: number;
  readonly zoneId: string;
  readonly zoneName: string;
  readonly accountId: string;
}

/** Performs the task. @throws the SDK's error, or NoMethod */
export type Task = (context: TaskContext) => Promise<unknown>;

/** Thrown if this version of the SDK has no method for the task. */
export class NoMethod extends Error {}

export const TASKS: Readonly<Record<string, Task>> = {
  'create, list, edit and delete a record': async ({ client, zoneId: zone_id }) => {
    const form = { zone_id, type: 'A', name: 'www', content: '192.0.2.1', ttl: 1 } as const;
    const { id } = await client.dns.records.create(form);
    await first(client.dns.records.list({ zone_id, per_page: 1 }));
    await client.dns.records.edit(id, { ...form, content: '192.0.2.2' });
    await client.dns.records.delete(id, { zone_id });
  },
  'read `zone_name` and `zone_id` of a record': async (context) => {
    const record = await newRecord(context);
    mustHave(record, 'zone_name');
    mustHave(record, 'zone_id');
  },
  'read `locked` of a record': async (context) => mustHave(await newRecord(context), 'locked'),
  'write an SRV record in the old form: `data.service`, `data.proto`, `data.name` and no outer `name`':
    async (context) => {
      const data = { service: '_sip', proto: '_tcp', name: context.zoneName, ...SRV };
      mustBeNamed(await srvRecord(context, { data }), `_sip._tcp.${context.zoneName}`);
    },
  'write an SRV record in the old form beside an outer base `name`': async (context) => {
    const { zoneName: name } = context;
    const data = { service: '_sips', proto: '_tcp', name, ...SRV };
    mustBeNamed(await srvRecord(context, { name, data }), `_sips._tcp.${name}`);
  },
  'write an SRV record in the new form: its `name` alone': async (context) => {
    const name = `_xmpp._tcp.${context.zoneName}`;
    mustBeNamed(await srvRecord(context, { name, data: SRV }), name);
  },
  'read why a record was refused in `error_chain`': async (context) => {
    mustHave((await refusal(context))[0], 'error_chain');
  },
  'read why a record was refused in `errors[0]`': async (context) => {
    const [error] = await refusal(context);
    if (error?.code === 1004) throw new Error('only the wrapper 1004');
  },
  'setting `cname_flattening`': setting('cname_flattening'),
  'DNS settings: `flatten_all_cnames`': async ({ client, zoneId: zone_id }) => {
    const { zone } = client.dns.settings as { zone?: typeof client.dns.settings.zone };
    if (zone === undefined) throw new NoMethod();
    mustHave(await zone.get({ zone_id }), 'flatten_all_cnames');
  },
  'DNS settings: `use_apex_ns` (raw)': raw('/dns_settings/use_apex_ns'),
  'setting `brotli`': setting('brotli'),
  'setting `minify`': setting('minify'),
  'setting `server_side_exclude`': setting('server_side_exclude'),
  'setting `mobile_redirect`': setting('mobile_redirect'),
  'setting `privacy_pass`': setting('privacy_pass'),
  'list firewall rules': listingTask(({ firewall }) => firewall.rules),
  'list filters': listingTask(({ filters }) => filters),
  'list rate limits': listingTask(({ rateLimits }) => rateLimits),
  'list WAF packages': listingTask(({ firewall }) => firewall.waf.packages),
  'list access bookmarks': ({ client, accountId: account_id }) =>
    first(client.zeroTrust.access.bookmarks.list({ account_id })),
  'list tunnels (raw)': ({ client, accountId }) => client.get(`/accounts/${accountId}/tunnels`),
  'read `default_nameservers` of an account': async ({ client, accountId: account_id }) => {
    const account = await client.accounts.get({ account_id });
    mustHave((account as { settings?: object }).settings, 'default_nameservers');
  },
  'page shield': ({ client, zoneId: zone_id }) => client.pageShield.get({ zone_id }),
  'page shield at its old path `script_monitor` (raw)': raw('/script_monitor'),
  'load balancer pool with `notification_email`': async ({ client, accountId: account_id }) => {
    const origins = [{ name: 'a', address: '192.0.2.1' }];
    const form = { account_id, name: 'one', origins, notification_email: 'a@example.com' };
    mustHave(await client.loadBalancers.pools.create(form), 'notification_email');
  },
  'direct upload of an image, v1 (raw)': ({ client, accountId }) =>
    client.post(`/accounts/${accountId}/images/v1/direct_upload`, { body: {} }),
  'direct upload of an image, v2': ({ client, accountId: account_id }) =>
    client.images.v2.directUploads.create({ account_id }),
  'billing profile': ({ client }) => client.user.billing.profile.get(),
  'zone analytics (raw)': raw('/analytics/dashboard'),
  'members of an organization (raw)': ({ client, accountId }) =>
    client.get(`/organizations/${accountId}/members`),
};

const SRV = { priority: 10, weight: 5, port: 5060, target: 'sip.example.com' };

function setting(id: string): Task {
  return ({ client, zoneId: zone_id }) => client.zones.settings.get(id, { zone_id });
}

function raw(path: string): Task {
  return ({ client, zoneId }) => client.get(`/zones/${zoneId}${path}`);
}

interface Listing {
  list(zone: never): AsyncIterable<unknown> | Promise<unknown>;
}

function listingTask(of: (client: Cloudflare) => unknown): Task {
  return async ({ client, major, zoneId: zone_id }) => {
    const zone = major < 4 ? zone_id : { zone_id };
    await first((of(client) as Listing).list(zone as never));
  };
}

/** Asks for the first page of a list. In version 7, the list of an ended operation is a promise without pages. */
async function first(pages: AsyncIterable<unknown> | Promise<unknown>): Promise<void> {
  if (!(Symbol.asyncIterator in pages)) return void (await pages);
  for await (const _ of pages) return;
}

/** Makes an SRV record in the old form, which has no name, although the SDK's types require a name. */
function srvRecord({ client, zoneId: zone_id }: TaskContext, form: object) {
  return client.dns.records.create({ zone_id, type: 'SRV', ttl: 1, ...form } as never);
}

function mustBeNamed({ name }: { readonly name?: string }, expected: string): void {
  if (name !== expected) throw new Error(`named ${name}`);
}

function newRecord({ client, zoneId: zone_id }: TaskContext): Promise<object> {
  const name = `r${crypto.randomUUID().slice(0, 8)}`;
  return client.dns.records.create({ zone_id, type: 'TXT', name, content: '"x"', ttl: 1 });
}

async function refusal({
  client,
  zoneId: zone_id,
}: TaskContext): Promise<{ code?: number; error_chain?: unknown }[]> {
  const wrong = { zone_id, type: 'A', name: 'wrong', content: 'no address', ttl: 1 } as const;
  const error = await client.dns.records.create(wrong).then(
    () => undefined,
    (refused) => refused as { errors: { code?: number }[] },
  );
  if (error === undefined) throw new Error('it was accepted');
  return error.errors;
}

function mustHave(value: object | null | undefined, member: string): void {
  if (value === null || value === undefined || !(member in value)) {
    throw new Error(`no ${member}`);
  }
}
