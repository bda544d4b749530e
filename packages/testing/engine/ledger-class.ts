// The class in the simulation of classes. Each of its events adds one entry: a row in each of two tables and, by a
// trigger, in a third one, two keys and an alarm, in any order. All of them contain the entry's number.

import type { WebSocket } from '../../../src/shared/calls/sockets/web-socket.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';

/** Creates the tables as guides show it: every constructor runs it, but only the first one writes. */
export const CREATE_LEDGER = `
  CREATE TABLE IF NOT EXISTS entry(n INTEGER PRIMARY KEY, who TEXT, alarm INTEGER);
  CREATE TABLE IF NOT EXISTS second(n INTEGER PRIMARY KEY);
  CREATE TABLE IF NOT EXISTS told(n INTEGER PRIMARY KEY);
  CREATE TRIGGER IF NOT EXISTS tells AFTER INSERT ON entry BEGIN INSERT INTO told VALUES(new.n); END;
  CREATE TABLE IF NOT EXISTS page(id TEXT, who TEXT)`;

/** The delays of alarms: some ring within a rest, others never ring in a run. */
const ALARM_DELAYS_MS = [5, 20_000, 1e9, 1e9];

const anyOf = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!;

export class Ledger extends DurableObject<object> {
  constructor(ctx: never, env: object) {
    super(ctx, env);
    this.ctx.storage.sql.exec(CREATE_LEDGER);
    if (Math.random() < 0.2) this.#add('constructor');
  }

  add(): number {
    return this.#add('call add');
  }

  plus(): number {
    return this.#add('call plus');
  }

  /** Adds entries in three parts of one event: at once, after it has waited for its storage, and after a timer. */
  async addThree(): Promise<void> {
    this.#add('call addThree');
    await this.ctx.storage.get('n');
    this.#add('call addThree');
    await new Promise((resolve) => setTimeout(resolve, 1));
    this.#add('call addThree');
  }

  async addInTransaction(): Promise<void> {
    await this.ctx.storage.transaction(async () => {
      this.#add('call addInTransaction');
      await this.ctx.storage.get('n');
      this.#add('call addInTransaction');
    });
  }

  async fetch(request: Request): Promise<Response> {
    this.#add('fetch');
    if (request.headers.get('upgrade') !== 'websocket') return new Response('added');
    const { WebSocketPair } = globalThis as unknown as { WebSocketPair: new () => WebSocket[] };
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.acceptWebSocket(server as never);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  webSocketMessage(): void {
    this.#add('socket');
  }

  alarm(): void {
    this.#add('alarm');
  }

  #add(who: string): number {
    const { kv, sql } = this.ctx.storage;
    const n = (kv.get<number>('n') ?? 0) + 1;
    const alarmMs = Math.floor(Date.now()) + anyOf(ALARM_DELAYS_MS) + n;
    const writes = [
      () => kv.put('n', n),
      () => sql.exec('INSERT INTO entry VALUES(?, ?, ?)', n, who, alarmMs),
      () => sql.exec('INSERT INTO second VALUES(?)', n),
      () => void this.ctx.storage.setAlarm(alarmMs),
      () => kv.put(`entry ${n}`, who),
      () => kv.delete(`entry ${n - 1}`),
    ];
    const inAnyOrder = () => {
      while (writes.length > 0) writes.splice(Math.floor(Math.random() * writes.length), 1)[0]!();
    };
    if (Math.random() < 0.2) this.ctx.storage.transactionSync(inAnyOrder);
    else inAnyOrder();
    return n;
  }
}
