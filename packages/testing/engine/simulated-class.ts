// The class of the objects in simulated hosts. It reports to a probe whenever its code runs: by a call, a timer or an
// alarm.

import { DurableObject } from '../../../worker/realm/library/library.ts';

/** Watches the code of one host's objects while the host is open. */
export interface Probe {
  /** Reports that code of the instance runs; `nowMs` is the time that it sees. */
  entered(what: string, instance: object, nowMs: number): void;
  /** Reports that the instance ends itself. */
  ended(instance: object): void;
}

/** The message of the error that undoes a transaction. */
export const UNDO_MESSAGE = 'The simulation undoes a transaction.';

export class SimulatedClass extends DurableObject<{ readonly probe: Probe }> {
  /** Stores the name of an operation. */
  async note(operation: string): Promise<void> {
    this.#enter('note');
    await this.ctx.storage.put(operation, this.ctx.storage.sql.databaseSize);
  }

  /** Stores the operation after a delay. */
  async noteLater(operation: string, delayMs: number): Promise<void> {
    this.#enter('noteLater');
    await new Promise((resolve) => this.#after(delayMs, () => resolve(undefined)));
    await this.ctx.storage.put(operation, 1);
  }

  /** Returns at once, and stores the operation after a delay. */
  noteBehind(operation: string, delayMs: number): void {
    this.#enter('noteBehind');
    this.#after(delayMs, () => {
      this.ctx.storage.put(operation, 1).catch(() => {}); // a failing disk ends the instance as well
    });
  }

  /** Stores the operation in a transaction that lasts for the delay. */
  async noteTogether(operation: string, delayMs: number): Promise<void> {
    this.#enter('noteTogether');
    await this.ctx.storage.transaction(async (txn) => {
      await txn.put(operation, 1);
      await new Promise((resolve) => this.#after(delayMs, () => resolve(undefined)));
    });
  }

  /**
   * Stores nothing: the transaction ends while an inner one is open. It throws, which undoes both, or returns, which
   * resets the object.
   */
  async noteNever(operation: string, how: 'throws' | 'returns', delayMs: number): Promise<void> {
    this.#enter('noteNever');
    const { storage } = this.ctx;
    await storage.transaction(async (txn) => {
      await txn.put(`${operation} outside`, 1);
      await new Promise<void>((resolve) => {
        void storage.transaction(async (inner) => {
          await inner.put(`${operation} inside`, 1);
          resolve();
          await new Promise<void>((ended) => this.#after(delayMs, ended));
        });
      });
      if (how === 'throws') throw new Error(UNDO_MESSAGE);
      this.env.probe.ended(this);
    });
  }

  /** Stores the operation when the alarm rings. */
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

  /** Blocks other events for a while. */
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
    this.ctx.abort('The simulation aborts the object.');
  }

  /** Returns all stored operations. */
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
