// The class of the objects whose alarms are simulated. It tells a probe when its alarms ring and its timers fire.

import { DurableObject } from '../../../worker/realm/library/library.ts';

/** A state of an object: its bookmark, and the alarm in it. */
export interface Marked {
  readonly bookmark: string;
  readonly alarm: number | null;
}

export interface AlarmProbe {
  /** The time that passes, in milliseconds. */
  elapsed(): number;
  /** The alarm of an object rings; a catalog that was lost has lost names. @throws if its handler is to fail */
  rings(id: string, scheduledTime: number, retryCount: number): void;
  /** The handler has ended; it waits for nothing more. */
  handled(): void;
  /** A timer fires that is due at this moment. */
  fires(dueMs: number): void;
}

export class AlarmedClass extends DurableObject<{ readonly probe: AlarmProbe }> {
  /** Sets the alarm; returns the time it has. */
  async set(timeMs: number): Promise<number | null> {
    await this.ctx.storage.setAlarm(timeMs);
    return this.ctx.storage.getAlarm();
  }

  async unset(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
  }

  read(): Promise<number | null> {
    return this.ctx.storage.getAlarm();
  }

  async mark(text: string): Promise<Marked> {
    const { storage } = this.ctx;
    await storage.put('mark', text);
    await storage.sync();
    return { bookmark: await storage.getCurrentBookmark(), alarm: await storage.getAlarm() };
  }

  /** Requests a restore, which the next instance makes. */
  async restoreLater(bookmark: string): Promise<void> {
    await this.ctx.storage.onNextSessionRestoreBookmark(bookmark);
    await this.ctx.storage.sync();
  }

  /** Waits for a timer. */
  async wait(delayMs: number): Promise<void> {
    const { probe } = this.env;
    const dueMs = probe.elapsed() + delayMs;
    await new Promise<void>((resolve) => {
      setTimeout(() => {
        probe.fires(dueMs);
        resolve();
      }, delayMs);
    });
  }

  abort(): void {
    this.ctx.abort('The simulation aborts the object.');
  }

  async alarm(run?: {
    readonly scheduledTime: number;
    readonly retryCount: number;
  }): Promise<void> {
    const { probe } = this.env;
    try {
      probe.rings(this.ctx.id.toString(), run!.scheduledTime, run!.retryCount);
      await this.ctx.storage.put('rung', run!.scheduledTime);
    } finally {
      probe.handled();
    }
  }
}
