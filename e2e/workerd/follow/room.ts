// The class whose objects are followed: it knows nothing of followers.

import type { FollowedState } from '../../../packages/follow/server/index.ts';
import type { ObjectWebSocket } from '../../../src/shared/contract/object.ts';

interface ObjectBase {
  readonly ctx: FollowedState;
}

/** `DurableObject` of workerd, or of this package. */
type BaseClass = new (ctx: never, env: never) => ObjectBase;

class Point {
  readonly x = 1;
}

export function roomOf(Base: BaseClass) {
  return class Room extends Base {
    release: (() => void) | null = null;
    /** A number that differs for each instance. */
    readonly instance = Math.random();
    readonly mine = () => 'private';

    constructor(ctx: never, env: never) {
      super(ctx, env);
      this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name TEXT NOT NULL)');
      const greeting = this.ctx.storage.kv.get<string>('greeting');
      if (greeting !== undefined) this.add(greeting);
    }

    /** From now on, each instance adds this item when it starts. */
    addAtStart(greeting: string): void {
      this.ctx.storage.kv.put('greeting', greeting);
    }

    names(): string[] {
      const rows = this.ctx.storage.sql.exec('SELECT name FROM item ORDER BY rowid').raw();
      return [...rows].map(([name]) => String(name));
    }

    add(name: string): number {
      this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
      return this.names().length;
    }

    addMany(names: readonly string[]): void {
      for (const name of names) this.add(name);
    }

    addColumns(count: number): void {
      const columns = Array.from({ length: count - 1 }, (_, i) => `c${i}`);
      this.ctx.storage.sql.exec('DROP TABLE item');
      this.ctx.storage.sql.exec(
        `CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, ${columns})`,
      );
    }

    rename(name: string, to: string): void {
      this.ctx.storage.sql.exec('UPDATE item SET name = ? WHERE name = ?', to, name);
    }

    /** Adds twice in one implicit transaction, although the method awaits. */
    async addTwice(name: string): Promise<number> {
      this.add(`${name} 1`);
      await this.ctx.storage.put(name, 1);
      await this.ctx.storage.get(name);
      return this.add(`${name} 2`);
    }

    /** Two turns; the second begins when `go` was called. */
    async addSlowly(name: string): Promise<number> {
      this.add(`${name} 1`);
      await new Promise<void>((resolve) => {
        this.release = resolve;
      });
      return this.add(`${name} 2`);
    }

    /** Adds who calls, three times; the second time when two calls have begun. */
    async sign(): Promise<void> {
      this.add(`${this.ctx.caller} 1`);
      await new Promise<void>((resolve) => {
        const other = this.release;
        this.release = other === null ? resolve : null;
        if (other === null) return;
        other();
        resolve();
      });
      this.add(`${this.ctx.caller} 2`);
      await this.ctx.storage.get('key');
      await new Promise((resolve) => setTimeout(resolve, 1));
      this.add(`${this.ctx.caller} 3`);
    }

    /** Adds who calls, with the error if that is not known. */
    signOnce(): void {
      try {
        this.add(`${this.ctx.caller}`);
      } catch (error) {
        this.add(String((error as { code?: string }).code));
      }
    }

    /** What is kept of clients. */
    kept(): unknown[][] {
      const { sql } = this.ctx.storage;
      const clients = sql.exec('SELECT identity, started, last, acked FROM _follow_client').raw();
      return [...clients, ...sql.exec('SELECT n FROM _follow_outcome').raw()];
    }

    /** Stores the identity of all clients, as an earlier version of this package has. */
    storeIdentity(identity: string): void {
      this.ctx.storage.sql.exec('UPDATE _follow_client SET identity = ?', identity);
    }

    async end(identity: string): Promise<void> {
      await this.ctx.endFollowers(identity);
    }

    async allow(identity: string): Promise<void> {
      await this.ctx.allowFollowers(identity);
    }

    /** Tries to give itself a caller. */
    forge(): string {
      try {
        Object.assign(this.ctx, { caller: 'forged' });
      } catch (error) {
        this.add((error as Error).name);
      }
      try {
        Object.defineProperty(this.ctx, 'caller', { value: 'forged' });
      } catch (error) {
        this.add((error as Error).name);
      }
      return String(this.ctx.caller);
    }

    whichInstance(): number {
      return this.instance;
    }

    isHeld(): boolean {
      return this.release !== null;
    }

    go(): void {
      this.release?.();
      this.release = null;
    }

    refuse(name: string): never {
      this.add(name);
      throw Object.assign(new RangeError(`no ${name}`), { code: 'NO', hint: () => 'unsendable' });
    }

    crash(name: string): never {
      this.add(name);
      return this.ctx.abort('the call ends the instance');
    }

    give(what: string): unknown {
      switch (what) {
        case 'nothing':
          return undefined;
        case 'map':
          return new Map([['at', new Date(0)]]);
        case 'function':
          return () => 1;
        case 'stream':
          return new ReadableStream();
        case 'instance':
          return new Point();
        default:
          return 'x'.repeat(2 ** 20);
      }
    }

    /** Writes in a transaction of several turns, which a timer and then an error end. */
    async undo(name: string): Promise<string> {
      try {
        await this.ctx.storage.transaction(async () => {
          this.add(name);
          await new Promise((resolve) => setTimeout(resolve, 5));
          throw new Error('undone');
        });
      } catch {
        return 'undone';
      }
      return 'kept';
    }

    async clear(): Promise<void> {
      await this.ctx.storage.deleteAll();
      this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name TEXT NOT NULL)');
    }

    /** Deletes everything, and ends the instance before it may be stored. */
    clearAndCrash(): never {
      void this.ctx.storage.deleteAll();
      return this.ctx.abort('the call ends the instance');
    }

    addLater(name: string): void {
      setTimeout(() => this.add(name), 1);
    }

    async addByAlarm(): Promise<void> {
      await this.ctx.storage.setAlarm(Date.now());
    }

    async signByAlarm(): Promise<void> {
      this.ctx.storage.kv.put('signs', true);
      await this.ctx.storage.setAlarm(Date.now());
    }

    alarm(): void {
      const signs = this.ctx.storage.kv.get('signs') === true;
      this.add(signs ? `alarm ${this.ctx.caller}` : 'by an alarm');
    }

    /** Makes the last notes those of another instance, as if those of this one had been lost. */
    loseNotes(): void {
      this.ctx.storage.sql.exec('UPDATE _follow_life SET life = life - 1');
    }

    /** Describes the object's sockets and its automatic response. */
    sockets(): unknown {
      return [
        this.ctx.getWebSockets().length,
        this.ctx.getWebSocketAutoResponse()?.request ?? null,
      ];
    }

    answerAutomatically(request: string): void {
      const scope = globalThis as unknown as Record<string, new (...pair: string[]) => never>;
      const Pair = scope.WebSocketRequestResponsePair!;
      this.ctx.setWebSocketAutoResponse(new Pair(request, `${request}!`));
    }

    fetch(request: Request): Response {
      if (request.headers.get('upgrade') !== 'websocket') return new Response('own');
      const scope = globalThis as unknown as {
        readonly WebSocketPair: new () => { 0: ObjectWebSocket; 1: ObjectWebSocket };
      };
      const { 0: client, 1: server } = new scope.WebSocketPair();
      this.ctx.acceptWebSocket(server);
      return new Response(null, { status: 101, webSocket: client } as ResponseInit);
    }

    webSocketMessage(socket: ObjectWebSocket, message: string | ArrayBuffer): void {
      this.add(`heard ${String(message)}`);
      socket.send(`echo ${String(message)}`);
    }
  };
}

export type RoomMethod = Extract<keyof InstanceType<ReturnType<typeof roomOf>>, string>;

/** The methods that followers may call. */
export const METHODS: RoomMethod[] = [
  ...([
    'add',
    'addTwice',
    'addSlowly',
    'refuse',
    'crash',
    'give',
    'undo',
    'clear',
    'clearAndCrash',
    'sign',
    'signOnce',
    'end',
    'forge',
  ] as const),
];
