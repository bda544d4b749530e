// Sends requests to the emulated provider of the API page, whose state is in objects of this browser and whose date is
// chosen on screen.
//
// A GET is sent twice, for the chosen day and for the day before, so that a change of that day shows.
// Other requests are sent once.

import { signal } from '@preact/signals';
import {
  createManagementApi,
  datesOf,
  deprecations,
  type ManagementApi,
  type ManagementObject,
} from '../../packages/management/index.ts';
import { connect } from '../../src/index.ts';
import { type Problem, problemOf } from '../ui/problem.ts';

const BASE = 'https://api.example/client/v4';
const ACCOUNT = { id: 'a'.repeat(32), name: 'Example' };
const ZONE_NAME = 'example.com';
const DAY_MS = 86_400_000;

export const DATES = datesOf();
/** The headers that announce a deprecation. */
const TELLING = ['deprecation', 'sunset', 'link', 'allow'];

export interface Example {
  readonly label: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** A day on which the answer of the request changes. */
  readonly date: string;
}

export const EXAMPLES: readonly Example[] = [
  { label: 'Records', method: 'GET', path: '/zones/:zone/dns_records', date: '2024-11-30' },
  {
    label: 'A wrong record',
    method: 'POST',
    path: '/zones/:zone/dns_records',
    body: '{ "type": "A", "name": "www", "content": "no address", "ttl": 1 }',
    date: '2024-09-30',
  },
  {
    label: 'SRV by its data',
    method: 'POST',
    path: '/zones/:zone/dns_records',
    body:
      '{ "type": "SRV", "name": "_sip._tcp.example.com", "ttl": 1,\n' +
      '  "data": { "service": "_sip", "proto": "_tcp", "name": "example.com",\n' +
      '    "priority": 10, "weight": 5, "port": 5060, "target": "sip.example.com" } }',
    date: '2024-05-31',
  },
  {
    label: 'A setting',
    method: 'GET',
    path: '/zones/:zone/settings/cname_flattening',
    date: '2025-03-21',
  },
  { label: 'DNS settings', method: 'GET', path: '/zones/:zone/dns_settings', date: '2025-03-21' },
  { label: 'Rules', method: 'GET', path: '/zones/:zone/firewall/rules', date: '2025-06-15' },
];

export interface Answer {
  readonly date: string;
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly lines: readonly string[];
}

export type Exchange =
  | { readonly kind: 'none' }
  | { readonly kind: 'asking' }
  | { readonly kind: 'answered'; readonly before: Answer | null; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly problem: Problem };

export const date = signal('2024-11-30');
export const method = signal('GET');
export const path = signal(EXAMPLES[0]!.path);
export const body = signal('');
export const exchange = signal<Exchange>({ kind: 'none' });
/** The bookmark that a restore would go back to. */
export const bookmark = signal<string | null>(null);

/** Returns the deprecations that are announced or in force on that day. */
export const scheduleOf = (at: string) => deprecations({ at });

/** Moves to the next date in that direction on which something changes. */
export function stepDate(direction: -1 | 1): void {
  const next =
    direction === 1
      ? DATES.find((one) => one > date.value)
      : [...DATES].reverse().find((one) => one < date.value);
  if (next === undefined) return;
  date.value = next;
  if (isReading()) void send();
}

export function choose(example: Example): void {
  method.value = example.method;
  path.value = example.path;
  body.value = example.body ?? '';
  date.value = example.date;
  void send();
}

/** Counts requests: an answer that arrives after a later request is not shown. */
let sent = 0;

export async function send(): Promise<void> {
  exchange.value = { kind: 'asking' };
  sent += 1;
  const number = sent;
  // The form is copied now, because the user may edit it while the provider starts.
  const asked = { method: method.value, path: path.value, body: body.value };
  const day = date.value;
  const before = isReading() ? dayBefore(day) : null;
  await attempt(async () => {
    const answer = await ask(asked, day);
    const answerBefore = before === null ? null : await ask(asked, before);
    if (number === sent) exchange.value = { kind: 'answered', before: answerBefore, answer };
  });
}

export async function remember(): Promise<void> {
  await attempt(async () => {
    bookmark.value = await (await provider()).api.getBookmark();
  });
}

export async function goBack(): Promise<void> {
  await attempt(async () => {
    if (bookmark.value !== null) await (await provider()).api.restoreBookmark(bookmark.value);
    if (isReading()) await send();
  });
}

export function dayBefore(day: string): string {
  return new Date(Date.parse(day) - DAY_MS).toISOString().slice(0, 10);
}

function isReading(): boolean {
  return method.value === 'GET';
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

async function ask({ method, path, body }: Asked, day: string): Promise<Answer> {
  const { api, zone } = await provider();
  const place = path.replaceAll(':zone', zone).replaceAll(':account', ACCOUNT.id);
  const response = await api.fetch(
    new Request(`${BASE}${place.startsWith('/') ? place : `/${place}`}`, {
      method,
      headers: { 'x-emulator-date': day },
      ...(method !== 'GET' && { body }),
    }),
  );
  return {
    date: day,
    status: response.status,
    headers: TELLING.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
    lines: JSON.stringify(await response.json(), null, 2).split('\n'),
  };
}

interface Provider {
  readonly api: ManagementApi;
  /** The id of the zone that exists from the start. */
  readonly zone: string;
}

let starting: Promise<Provider> | undefined;

async function provider(): Promise<Provider> {
  starting ??= start();
  try {
    return await starting;
  } catch (error) {
    starting = undefined;
    throw error;
  }
}

async function start(): Promise<Provider> {
  const { env } = await connect<{ ManagementObject: ManagementObject }>(
    () => new Worker(new URL('./provider-worker.ts', import.meta.url), { type: 'module' }),
    { directory: 'provider' },
  );
  const api = createManagementApi({ namespace: env.ManagementObject, accounts: [ACCOUNT] });
  const call = async (operation: string, content?: object) => {
    const [verb, place] = operation.split(' ') as [string, string];
    const init = { method: verb, ...(content && { body: JSON.stringify(content) }) };
    return (await api.fetch(new Request(BASE + place, init))).json();
  };
  const found = await call(`GET /zones?name=${ZONE_NAME}`);
  if (found.result.length > 0) return { api, zone: found.result[0].id };
  const made = await call('POST /zones', { name: ZONE_NAME, account: { id: ACCOUNT.id } });
  const zone: string = made.result.id;
  await call(`POST /zones/${zone}/dns_records`, {
    type: 'A',
    name: 'www',
    content: '192.0.2.1',
    ttl: 1,
  });
  return { api, zone };
}

async function attempt(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    exchange.value = { kind: 'failed', problem: problemOf(error) };
  }
}
