// The class whose object the fleet follows, made followable with the limits that the package has by itself. Its methods
// check their arguments, as docs/follow.md advises, so that a follower makes no more of the object than it may.
//
// Invariant: the object's size is bounded, but for one row for each entry of the friend.

import { type FollowedState, followable } from '../../../../packages/follow/server/index.ts';

interface ObjectBase {
  readonly ctx: FollowedState;
}

type BaseClass = new (ctx: never, env: never) => ObjectBase;

export const FRIEND = 'friend';
/** The version of the class, for both sides. */
export const VERSION = 1;
/** Rows that a hostile identity may have at once. */
const ENTRIES_OF_ONE = 20;
const TEXT_UNITS_MAX = 1000;
const GIVEN_BYTES_MAX = 900_000;
const WAIT_MS_MAX = 200;

export function fleetRoomOf(Base: BaseClass) {
  return class Room extends Base {
    constructor(ctx: never, env: never) {
      super(ctx, env);
      this.ctx.storage.sql.exec(`
        CREATE TABLE IF NOT EXISTS entry (caller TEXT NOT NULL, id TEXT NOT NULL);
        CREATE INDEX IF NOT EXISTS by_caller ON entry (caller);
        CREATE TABLE IF NOT EXISTS page (n INTEGER PRIMARY KEY, content TEXT NOT NULL)`);
    }

    /** Adds a row. Nothing makes it unique, so that a call that runs twice is seen. */
    record(id: unknown): void {
      const { sql } = this.ctx.storage;
      const caller = this.ctx.caller ?? 'nobody';
      sql.exec('INSERT INTO entry VALUES (?, ?)', caller, checkText(id));
      if (caller === FRIEND) return;
      const oldest =
        'SELECT rowid FROM entry WHERE caller = ? ORDER BY rowid DESC LIMIT -1 OFFSET ?';
      sql.exec(`DELETE FROM entry WHERE rowid IN (${oldest})`, caller, ENTRIES_OF_ONE);
    }

    put(key: unknown, value: unknown): void {
      if (!/^[a-z]$/.test(checkText(key))) throw new RangeError('A key is one letter.');
      this.ctx.storage.kv.put(checkText(key), checkText(value));
    }

    echo(value: unknown): unknown {
      return value;
    }

    give(bytes: unknown): string {
      if (typeof bytes !== 'number' || !(bytes >= 0 && bytes <= GIVEN_BYTES_MAX)) {
        throw new RangeError('Too much.');
      }
      return 'x'.repeat(bytes);
    }

    fail(): never {
      throw Object.assign(new RangeError('x'.repeat(10_000)), {
        code: 'NO',
        more: 'y'.repeat(10_000),
      });
    }

    /** Writes in two turns. */
    async wait(ms: unknown): Promise<void> {
      this.put('w', 'first');
      const delayMs = typeof ms === 'number' && ms >= 0 ? Math.min(ms, WAIT_MS_MAX) : 0;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      this.put('w', 'second');
    }

    // Followers may not call the methods below.

    /** Fills the object, so that a snapshot has many parts. */
    fill(pages: number, pageBytes: number): void {
      for (let n = 0; n < pages; n++) {
        const content = String(n % 10).repeat(pageBytes);
        this.ctx.storage.sql.exec('INSERT OR REPLACE INTO page VALUES (?, ?)', n, content);
      }
    }

    entriesOf(caller: string): string[] {
      const rows = this.ctx.storage.sql.exec('SELECT id FROM entry WHERE caller = ?', caller).raw();
      return [...rows].map(([id]) => String(id));
    }

    clientNames(): string[] {
      const rows = this.ctx.storage.sql.exec('SELECT name FROM _follow_client').raw();
      return [...rows].map(([name]) => String(name));
    }

    /** How many bytes the object has, and how many clients. */
    size(): { readonly bytes: number; readonly clients: number } {
      const { sql } = this.ctx.storage;
      const { n } = sql.exec<{ n: number }>('SELECT count(*) AS n FROM _follow_client').one();
      return { bytes: sql.databaseSize, clients: n };
    }
  };
}

export type FleetRoom = InstanceType<ReturnType<typeof fleetRoomOf>>;

/** The methods that followers may call. */
export const METHODS = ['record', 'put', 'echo', 'give', 'fail', 'wait'] as const;

/** `user` in the address is the follower's identity, `lifetime` how many milliseconds it may follow. */
export function followedFleetRoom(Base: BaseClass) {
  return followable(fleetRoomOf(Base), {
    authorize(request) {
      const { searchParams } = new URL(request.url);
      const identity = searchParams.get('user');
      const lifetimeMs = searchParams.get('lifetime');
      if (identity === null || lifetimeMs === null) return identity;
      return { identity, expiresAt: Date.now() + Number(lifetimeMs) };
    },
    methods: METHODS,
    version: VERSION,
  });
}

/** Answers a request to follow, or a POST that names a method, as another object would call it. */
export async function answer(
  request: Request,
  stub: { fetch(request: Request): Promise<Response> } & object,
): Promise<Response> {
  if (request.method !== 'POST') return stub.fetch(request);
  const { method, args } = (await request.json()) as { method: string; args: unknown[] };
  const call = (stub as unknown as Record<string, (...args: unknown[]) => unknown>)[method]!;
  return Response.json({ result: (await call(...args)) ?? null });
}

function checkText(value: unknown): string {
  if (typeof value === 'string' && value.length <= TEXT_UNITS_MAX) return value;
  throw new TypeError(`A text has at most ${TEXT_UNITS_MAX} characters.`);
}
