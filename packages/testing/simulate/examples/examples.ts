// Ten classic defects of stateful objects, each with the class that corrects it.

import type { WebSocket } from '../../../../src/shared/calls/sockets/web-socket.ts';
import { DurableObject } from '../../../../worker/realm/library/library.ts';
import { conserved, exactlyOnce, linearizable } from '../simulate.ts';
import { type Example, example } from './example.ts';

const NAMES = ['a', 'b', 'c'];
const pause = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));

// ---- 1. Lost update: the balance that was read is out of date when it is written.

class LostUpdate extends DurableObject {
  async add(by: number): Promise<number> {
    const count = (await this.ctx.storage.get<number>('count')) ?? 0;
    await pause(5); // The pause stands for a request to another service.
    await this.ctx.storage.put('count', count + by);
    return count + by;
  }
}

class AtomicUpdate extends LostUpdate {
  override async add(by: number): Promise<number> {
    await pause(5);
    const count = (await this.ctx.storage.get<number>('count')) ?? 0;
    await this.ctx.storage.put('count', count + by);
    return count + by;
  }
}

const lostUpdate = example(
  { name: 'lost update across an await', seed: '5', message: /No order of the calls of Counter/ },
  { Counter: LostUpdate },
  { Counter: AtomicUpdate },
  {
    retries: 0,
    calls: ({ env, pick, int }) => [() => env.Counter.getByName(pick(NAMES)).add(int(1, 9))],
    invariant: linearizable<number>({
      initial: 0,
      apply: (count, { args: [by] }) => ({
        state: count + (by as number),
        answer: count + (by as number),
      }),
    }),
  },
);

// ---- 2. An alarm that is not idempotent: it runs at least once, so it may run twice.

class PaysTwice extends DurableObject {
  async order(id: string): Promise<void> {
    await this.ctx.storage.put(`order ${id}`, true);
    await this.ctx.storage.setAlarm(Date.now() + 1000);
  }
  async alarm(): Promise<void> {
    const orders = await this.ctx.storage.list({ prefix: 'order ' });
    for (const key of orders.keys()) await this.pay(key);
    await pause(100); // The pause stands for a message to the bank.
    await this.ctx.storage.delete([...orders.keys()]);
  }
  async pay(key: string): Promise<void> {
    const paid = await this.paid();
    await this.ctx.storage.put('paid', [...paid, key.slice(6)]);
  }
  async paid(): Promise<string[]> {
    return (await this.ctx.storage.get<string[]>('paid')) ?? [];
  }
}

class PaysOnce extends PaysTwice {
  override async pay(key: string): Promise<void> {
    if ((await this.paid()).includes(key.slice(6))) return;
    await super.pay(key);
  }
}

const alarmTwice = example(
  { name: 'alarm not idempotent', seed: 'u', message: /Double effect/ },
  { Payer: PaysTwice },
  { Payer: PaysOnce },
  {
    retries: 0,
    calls: ({ env, unique }) => [() => env.Payer.getByName('p').order(unique())],
    invariant: exactlyOnce(async ({ each }) =>
      (await Promise.all(each('Payer').map((stub) => stub.paid()))).flat(),
    ),
  },
);

// ---- 3. A cache in memory that contains a write which has failed.

class CacheAhead extends DurableObject {
  names: string[] | undefined;
  async list(): Promise<string[]> {
    this.names ??= [...(await this.ctx.storage.list()).keys()];
    return this.names;
  }
  async add(name: string): Promise<void> {
    (await this.list()).push(name);
    await this.ctx.storage.put(name, true); // throws for a name that is too long
  }
}

class CacheBehind extends CacheAhead {
  override async add(name: string): Promise<void> {
    const names = await this.list();
    await this.ctx.storage.put(name, true);
    names.push(name);
  }
}

const cacheAhead = example(
  {
    name: 'memory cache ahead of a failed write',
    seed: '3',
    message: /is listed, and was refused/,
  },
  { Names: CacheAhead },
  { Names: CacheBehind },
  {
    retries: 0,
    calls: ({ env, unique, chance }) => [
      () => env.Names.getByName('n').add(unique() + (chance(0.2) ? '.'.repeat(3000) : '')),
      async () => {
        for (const name of await env.Names.getByName('n').list()) {
          if (name.length > 2048)
            throw new Error(`A name of ${name.length} characters is listed, and was refused.`);
        }
      },
    ],
  },
);

// ---- 4. Double charge: the client repeats a call whose answer was lost.

class ChargesAgain extends DurableObject {
  async charge(id: string, amount: number): Promise<number> {
    const charges = await this.charges();
    await this.ctx.storage.put('charges', [...charges, id]);
    return amount;
  }
  async charges(): Promise<string[]> {
    return (await this.ctx.storage.get<string[]>('charges')) ?? [];
  }
}

class ChargesOnce extends ChargesAgain {
  override async charge(id: string, amount: number): Promise<number> {
    if ((await this.charges()).includes(id)) return amount;
    return super.charge(id, amount);
  }
}

const doubleCharge = example(
  { name: 'double charge on retry', seed: '4', message: /Double effect.*called 2 times/ },
  { Shop: ChargesAgain },
  { Shop: ChargesOnce },
  {
    calls: ({ env, unique, int }) => [() => env.Shop.getByName('s').charge(unique(), int(1, 99))],
    invariant: exactlyOnce(async ({ each }) =>
      (await Promise.all(each('Shop').map((stub) => stub.charges()))).flat(),
    ),
  },
);

// ---- 5. A missing `await`: the answer is sent before the work is done.

class MissingAwait extends DurableObject {
  async note(text: string): Promise<void> {
    void this.store(text);
  }
  async store(text: string): Promise<void> {
    await pause(20); // The pause stands for the compression of the text.
    await this.ctx.storage.put(text, true);
  }
  async notes(): Promise<string[]> {
    return [...(await this.ctx.storage.list()).keys()];
  }
}

class WithAwait extends MissingAwait {
  override async note(text: string): Promise<void> {
    await this.store(text);
  }
}

const missingAwait = example(
  { name: 'missing await', seed: 'a', message: /Lost effect/ },
  { Notes: MissingAwait },
  { Notes: WithAwait },
  {
    calls: ({ env, unique, pick }) => [() => env.Notes.getByName(pick(NAMES)).note(unique())],
    invariant: exactlyOnce(async ({ each }) =>
      (await Promise.all(each('Notes').map((stub) => stub.notes()))).flat(),
    ),
  },
);

// ---- 6. An unsafe migration: the previous version cannot read the new form.

class Version1 extends DurableObject {
  async add(id: string): Promise<void> {
    const items = await this.items();
    await this.ctx.storage.put('items', [...items, id]);
  }
  async items(): Promise<string[]> {
    return (await this.ctx.storage.get<string[]>('items')) ?? [];
  }
}

/** Moves each item to a key of its own, where version 1 does not find it. */
class UnsafeVersion2 extends Version1 {
  override async add(id: string): Promise<void> {
    await this.move();
    await this.ctx.storage.put(`item ${id}`, true);
  }
  override async items(): Promise<string[]> {
    await this.move();
    return [...(await this.ctx.storage.list({ prefix: 'item ' })).keys()].map((key) =>
      key.slice(5),
    );
  }
  async move(): Promise<void> {
    const { storage } = this.ctx;
    if ((await storage.get('moved')) === true) return;
    for (const id of await super.items()) await storage.put(`item ${id}`, true);
    await storage.put('moved', true);
  }
}

/** Writes both forms, and moves the items that version 1 has written in the meantime. */
class SafeVersion2 extends UnsafeVersion2 {
  override async add(id: string): Promise<void> {
    await super.add(id);
    await Version1.prototype.add.call(this, id);
  }
  override async items(): Promise<string[]> {
    return Version1.prototype.items.call(this);
  }
  override async move(): Promise<void> {
    for (const id of (await this.ctx.storage.get<string[]>('items')) ?? []) {
      await this.ctx.storage.put(`item ${id}`, true);
    }
  }
}

const unsafeMigration = example(
  { name: 'unsafe migration', seed: 'a', message: /Lost effect/ },
  { List: Version1 },
  { List: Version1 },
  {
    retries: 0,
    faults: { deploy: 12 },
    calls: ({ env, unique }) => [() => env.List.getByName('l').add(unique())],
    invariant: exactlyOnce(async ({ each }) =>
      (await Promise.all(each('List').map((stub) => stub.items()))).flat(),
    ),
  },
  { broken: [{ List: UnsafeVersion2 }], mended: [{ List: SafeVersion2 }] },
);

// ---- 7. An answer, or half of the work, before another object has stored its part.

class Account extends DurableObject {
  async balance(): Promise<number> {
    return (await this.ctx.storage.get<number>('balance')) ?? 100;
  }
  /** Adds the amount once for each id. */
  async add(id: string, by: number): Promise<void> {
    if ((await this.ctx.storage.get(`done ${id}`)) === true) return;
    await this.ctx.storage.put('balance', (await this.balance()) + by);
    await this.ctx.storage.put(`done ${id}`, true);
  }
}

interface BankEnv {
  readonly Account: { getByName(name: string): Account };
}

class HalfTransfer extends DurableObject<BankEnv> {
  async transfer(id: string, from: string, to: string, amount: number): Promise<void> {
    await this.env.Account.getByName(from).add(`${id} out`, -amount);
    await this.env.Account.getByName(to).add(`${id} in`, amount);
  }
}

/** Stores the intent first; the alarm finishes a transfer that a crash has interrupted. */
class WholeTransfer extends HalfTransfer {
  override async transfer(id: string, from: string, to: string, amount: number): Promise<void> {
    await this.ctx.storage.put(`open ${id}`, { from, to, amount });
    await this.ctx.storage.setAlarm(Date.now() + 1000);
    await this.finish();
  }
  async alarm(): Promise<void> {
    await this.finish();
  }
  async finish(): Promise<void> {
    const open = await this.ctx.storage.list<{ from: string; to: string; amount: number }>({
      prefix: 'open ',
    });
    for (const [key, { from, to, amount }] of open) {
      await super.transfer(key, from, to, amount);
      await this.ctx.storage.delete(key);
    }
  }
}

const halfTransfer = example(
  { name: 'reply before the write of another object', seed: 'a', message: /The sum is/ },
  { Account, Bank: HalfTransfer },
  { Account, Bank: WholeTransfer },
  {
    retries: 0,
    setup: async ({ env }) => {
      for (const name of NAMES) await env.Account.getByName(name).balance();
    },
    calls: ({ env, pick, int, unique }) => [
      () => env.Bank.getByName('b').transfer(unique(), pick(NAMES), pick(NAMES), int(1, 100)),
    ],
    invariant: conserved(async ({ each }) => {
      const balances = await Promise.all(each('Account').map((stub) => stub.balance()));
      return balances.reduce((sum, balance) => sum + balance, 0);
    }),
  },
);

// ---- 8. The state of a socket, which is lost with the instance.

class ForgetsUser extends DurableObject {
  readonly users = new Map<WebSocket, string>();
  async fetch(request: Request): Promise<Response> {
    const { WebSocketPair } = globalThis as unknown as { WebSocketPair: new () => WebSocket[] };
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.acceptWebSocket(server);
    this.join(server, new URL(request.url).searchParams.get('user')!);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }
  join(socket: WebSocket, user: string): void {
    this.users.set(socket, user);
  }
  userOf(socket: WebSocket): string | undefined {
    return this.users.get(socket);
  }
  async webSocketMessage(socket: WebSocket): Promise<void> {
    socket.send(`hello ${this.userOf(socket)}`);
  }
}

class RemembersUser extends ForgetsUser {
  override join(socket: WebSocket, user: string): void {
    socket.serializeAttachment(user);
  }
  override userOf(socket: WebSocket): string {
    return socket.deserializeAttachment() as string;
  }
}

const socketState = example(
  { name: 'socket state lost on eviction', seed: '1', message: /hello undefined/ },
  { Chat: ForgetsUser },
  { Chat: RemembersUser },
  {
    retries: 0,
    calls: ({ env, pick }) => [
      async () => {
        const stub = env.Chat.getByName('c');
        const request = new Request('https://chat/?user=ann', {
          headers: { upgrade: 'websocket' },
        });
        const response = (await stub.fetch(request)) as unknown as { webSocket?: WebSocket };
        const socket = response.webSocket!;
        socket.accept();
        await pause(pick([1, 30_000]));
        const answer = new Promise<string>((resolve) => {
          socket.addEventListener('message', (event) =>
            resolve(String((event as MessageEvent).data)),
          );
          socket.addEventListener('close', () => resolve('closed'));
        });
        if (socket.readyState !== 1) return;
        socket.send('who am I?');
        const text = await answer;
        socket.close();
        if (text !== 'closed' && text !== 'hello ann') throw new Error(text);
      },
    ],
  },
);

// ---- 9. A missing `blockConcurrencyWhile`: calls run before the constructor has loaded the state.

class LoadsBeside extends DurableObject {
  next = 1;
  readonly used: number[] = [];
  constructor(ctx: ConstructorParameters<typeof DurableObject>[0], env: object) {
    super(ctx as never, env as never);
    this.begin(() => this.load());
  }
  begin(load: () => Promise<void>): void {
    void load();
  }
  async load(): Promise<void> {
    await pause(5); // The pause stands for a request for the settings.
    this.next = (await this.ctx.storage.get<number>('next')) ?? 1;
  }
  async ticket(): Promise<number> {
    const number = this.next++;
    await this.ctx.storage.put('next', this.next);
    return number;
  }
}

class LoadsFirst extends LoadsBeside {
  override begin(load: () => Promise<void>): void {
    void this.ctx.blockConcurrencyWhile(load);
  }
}

const noBlocking = example(
  { name: 'blockConcurrencyWhile forgotten', seed: '2', message: /twice/ },
  { Tickets: LoadsBeside },
  { Tickets: LoadsFirst },
  {
    calls: ({ env }) => [() => env.Tickets.getByName('t').ticket()],
    invariant: ({ calls }) => {
      const seen = new Set<unknown>();
      for (const { outcome } of calls) {
        if (outcome.kind !== 'answered') continue;
        if (seen.has(outcome.value)) throw new Error(`Ticket ${outcome.value} was given twice.`);
        seen.add(outcome.value);
      }
    },
  },
);

// ---- 10. A clock that is set back: the order of times is not the order of events.

class OrdersByClock extends DurableObject {
  async append(text: string): Promise<void> {
    await this.ctx.storage.put(await this.key(), text);
  }
  async key(): Promise<string> {
    return `entry ${String(Date.now()).padStart(16, '0')} ${crypto.randomUUID()}`;
  }
  async last(): Promise<string | undefined> {
    const [last] = await this.ctx.storage
      .list<string>({ prefix: 'entry ', reverse: true, limit: 1 })
      .then((entries) => entries.values());
    return last;
  }
  /** Appends an entry, and returns the one that is then the last. */
  async replace(text: string): Promise<string | undefined> {
    await this.append(text);
    return this.last();
  }
}

class OrdersByNumber extends OrdersByClock {
  override async key(): Promise<string> {
    const number = ((await this.ctx.storage.get<number>('number')) ?? 0) + 1;
    await this.ctx.storage.put('number', number);
    return `entry ${String(number).padStart(16, '0')}`;
  }
}

const clockBack = example(
  { name: 'clock moved back', seed: 'l', message: /the last entry/ },
  { Log: OrdersByClock },
  { Log: OrdersByNumber },
  {
    retries: 0,
    calls: ({ env, unique }) => [
      async () => {
        const text = unique();
        const last = await env.Log.getByName('l').replace(text);
        if (last !== text) throw new Error(`${text} was appended, and ${last} is the last entry.`);
      },
    ],
  },
);

export const EXAMPLES: readonly Example[] = [
  lostUpdate,
  alarmTwice,
  cacheAhead,
  doubleCharge,
  missingAwait,
  unsafeMigration,
  halfTransfer,
  socketState,
  noBlocking,
  clockBack,
];

/**
 * Returns the digests of runs with these seeds, of an example with timers, alarms, calls between objects and random
 * numbers.
 */
export async function digestsOf(seeds: readonly string[]): Promise<string[]> {
  const digests: string[] = [];
  for (const seed of seeds) digests.push((await halfTransfer.mended({ seed })).digest);
  return digests;
}
