// Starts an emulated provider for tests, with objects in this process. Its clock stands still until the test moves it.

import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { createManagementApi, type ManagementOptions } from '../edge/api.ts';
import { ManagementObject } from '../objects/management-object.ts';

export const ACCOUNT_ID = 'a'.repeat(32);
export const OTHER_ACCOUNT_ID = 'b'.repeat(32);
const BASE = 'https://api.example/client/v4';
const NOW_MS = Date.UTC(2026, 0, 1);

export interface Sent {
  readonly body?: unknown;
  /** The date to send in the emulator's header. */
  readonly at?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Got {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

export async function startProvider(options: Partial<ManagementOptions> = {}) {
  const objects = await createObjects({ ManagementObject });
  const clock = { nowMs: NOW_MS, now: () => clock.nowMs };
  const api = createManagementApi({
    namespace: objects.env.ManagementObject,
    clock,
    accounts: [
      { id: ACCOUNT_ID, name: 'First' },
      { id: OTHER_ACCOUNT_ID, name: 'Second' },
    ],
    ...options,
  });
  let zoneCount = 0;

  /** Sends a call. A body that is text is sent unchanged, any other body as JSON. */
  async function call(operation: string, { body, at, headers }: Sent = {}): Promise<Got> {
    const [method, path] = operation.split(' ') as [string, string];
    const response = await api.fetch(
      new Request(BASE + path, {
        method,
        headers: { ...headers, ...(at && { 'x-emulator-date': at }) },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** Creates a zone of the account, and returns its id and name. */
  async function newZone(accountId = ACCOUNT_ID) {
    const name = `zone-${zoneCount++}.example`;
    const made = await call('POST /zones', { body: { name, account: { id: accountId } } });
    return { id: made.body.result.id as string, name };
  }

  /** The `fetch` that is passed to an SDK as its option `fetch`. */
  const sdkFetch = (input: string | URL | Request, init?: RequestInit) =>
    // Older SDKs send forms as streams, for which `Request` needs `duplex`.
    api.fetch(new Request(input, { ...init, duplex: 'half' } as RequestInit));

  /** Returns the ids of all objects that have stored something. */
  const storedObjects = async () =>
    (await objects.list('ManagementObject')).map(({ id }) => id.toString());

  const close = () => objects.close();
  return { api, clock, call, newZone, sdkFetch, storedObjects, baseUrl: BASE, close };
}

export type TestProvider = Awaited<ReturnType<typeof startProvider>>;

/** Returns the day before the date. */
export function dayBefore(date: string): string {
  return new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);
}
