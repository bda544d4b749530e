// An Agent of Cloudflare's Agents SDK: state, SQL, a schedule, a queue, the current agent, and calls and
// state over sockets.

import { Agent, type Connection, callable, getCurrentAgent } from 'agents';

interface Count {
  readonly count: number;
}

export class Desk extends Agent<Cloudflare.Env, Count> {
  override initialState: Count = { count: 0 };
  readonly #waiting: ((entry: unknown[]) => void)[] = [];

  /** The program of the suite. */
  async run(): Promise<unknown> {
    const initial = this.state;
    this.setState({ count: 5 });
    this.sql`CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)`;
    for (const text of ['one', 'two']) this.sql`INSERT INTO notes (text) VALUES (${text})`;
    const notes = this.sql<{ id: number; text: string }>`SELECT * FROM notes WHERE id > ${0}`;

    const queued = this.#next();
    await this.queue('onQueued', { text: 'first' });
    const queueEntry = await queued;

    const fired = this.#next();
    const schedule = await this.schedule(new Date(Date.now() + 100), 'onScheduled', {
      text: 'soon',
    });
    const scheduleEntry = await fired;
    // The library deletes a schedule after its callback has returned.
    while ((await this.listSchedules()).length > 0) await new Promise((r) => setTimeout(r, 10));

    const cron = await this.schedule('0 8 * * *', 'onScheduled', { text: 'daily' });
    const kept = await this.listSchedules();
    const cancelled = await this.cancelSchedule(cron.id);
    return {
      name: this.name,
      initial,
      state: this.state,
      notes,
      queueEntry,
      scheduleEntry,
      schedule: { type: schedule.type, callback: schedule.callback, payload: schedule.payload },
      kept: kept.map(({ type, callback, payload }) => ({ type, callback, payload })),
      cancelled,
      left: (await this.listSchedules()).length,
      agents: await Promise.all([1, 2, 3].map((delayMs) => this.#agentAfter(delayMs))),
      outside: await outside(() => getCurrentAgent().agent === undefined),
    };
  }

  async onQueued(payload: unknown): Promise<void> {
    this.#report(['queued', payload, (await this.#agentAfter(1)) === this.name]);
  }

  async onScheduled(payload: unknown): Promise<void> {
    this.#report(['scheduled', payload, (await this.#agentAfter(1)) === this.name]);
  }

  override onConnect(connection: Connection): void {
    connection.send(`welcome to ${this.name}`);
  }

  override async onMessage(connection: Connection, message: string): Promise<void> {
    // Another event of this agent runs meanwhile, with a connection of its own.
    await this.#agentAfter(20);
    const { agent, connection: own } = getCurrentAgent<Desk>();
    connection.send(`${agent?.name}: ${message} ${own?.id === connection.id}`);
  }

  @callable()
  async add(amount: number): Promise<number> {
    this.setState({ count: this.state.count + amount });
    return this.state.count;
  }

  @callable()
  fail(): void {
    throw new Error('as asked');
  }

  async #agentAfter(delayMs: number): Promise<string | undefined> {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await crypto.subtle.digest('SHA-256', new Uint8Array(delayMs));
    return getCurrentAgent<Desk>().agent?.name;
  }

  #next(): Promise<unknown[]> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #report(entry: unknown[]): void {
    this.#waiting.shift()?.(entry);
  }
}

async function outside(task: () => boolean): Promise<boolean> {
  return task() === false;
}
