// The class of the objects that run in simulated hosts. It tells a probe whenever its code is entered:
// by a call, a timer or an alarm.

import { DurableObject } from '../library/library.ts';

/** What watches the code of the objects of one host, while that is open. */
export interface Probe {
  /** Code of the instance was entered. `nowMs` is what it takes for the time. */
  entered(what: string, instance: object, nowMs: number): void;
  /** The instance ends itself. */
  ended(instance: object): void;
}

export class SimulatedClass extends DurableObject<{ readonly probe: Probe }> {
  /** Notes an operation. */
  async note(operation: string): Promise<void> {
    this.#enter('note');
    await this.ctx.storage.put(operation, this.ctx.storage.sql.databaseSize);
  }

  /** Notes it after a while. */
  async noteLater(operation: string, delayMs: number): Promise<void> {
    this.#enter('noteLater');
    await new Promise((resolve) => this.#after(delayMs, () => resolve(undefined)));
    await this.ctx.storage.put(operation, 1);
  }

  /** Notes it after a while, when the call has long been answered. */
  noteBehind(operation: string, delayMs: number): void {
    this.#enter('noteBehind');
    this.#after(delayMs, () => void this.ctx.storage.put(operation, 1));
  }

  /** Notes it in a transaction that takes a while. */
  async noteTogether(operation: string, delayMs: number): Promise<void> {
    this.#enter('noteTogether');
    await this.ctx.storage.transaction(async (txn) => {
      await txn.put(operation, 1);
      await new Promise((resolve) => this.#after(delayMs, () => resolve(undefined)));
    });
  }

  /** Notes it when the alarm comes. */
  async noteByAlarm(operation: string, delayMs: number): Promise<void> {
    this.#enter('noteByAlarm');
    await this.ctx.storage.put('~alarm', operation);
    await this.ctx.storage.setAlarm(Date.now() + delayMs);
  }

  async alarm(): Promise<void> {
    this.#enter('alarm');
    const operation = await this.ctx.storage.get<string>('~alarm');
    if (operation !== undefined) await this.ctx.storage.put(operation, 1);
  }

  /** Lets nothing else in for a while. */
  async hold(delayMs: number): Promise<void> {
    this.#enter('hold');
    await this.ctx.blockConcurrencyWhile(
      () => new Promise((resolve) => this.#after(delayMs, () => resolve(undefined))),
    );
  }

  /** Ends the instance. */
  abort(): void {
    this.#enter('abort');
    this.env.probe.ended(this);
    this.ctx.abort('The simulation asked for it.');
  }

  /** All operations that were noted. */
  async noted(): Promise<string[]> {
    this.#enter('noted');
    const entries = await this.ctx.storage.list();
    return [...entries.keys()].filter((key) => !key.startsWith('~'));
  }

  #after(delayMs: number, task: () => void): void {
    setTimeout(() => {
      this.#enter('a timer');
      task();
    }, delayMs);
  }

  #enter(what: string): void {
    this.env.probe.entered(what, this, Date.now());
  }
}
