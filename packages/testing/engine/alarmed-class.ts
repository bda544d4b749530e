// The class of the objects whose alarms are simulated. It reports to a probe when its alarms ring and its timers fire.

import { DurableObject } from '../../../worker/realm/library/library.ts';

/** A state to which an object can be restored: its bookmark, and the alarm in it. */
export interface MarkedState {
  readonly bookmark: string;
  readonly alarm: number | null;
}

export interface AlarmProbe {
  /** Returns the elapsed time in milliseconds. */
  elapsed(): number;
  /**
   * Reports that the alarm of an object rings; the object is known by its id, because a lost catalog has lost its name.
   * @throws if the handler must fail
   */
  alarmRings(id: string, scheduledTime: number, retryCount: number): void;
  /** Reports that a handler has ended and waits for nothing more. */
  handlerEnded(): void;
  /** Reports that a timer which was due at this moment has fired. */
  timerFires(dueMs: number): void;
}

export class AlarmedClass extends DurableObject<{ readonly probe: AlarmProbe }> {
  /** Sets the alarm, and returns the time that the storage gives it. */
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

  async mark(text: string): Promise<MarkedState> {
    const { storage } = this.ctx;
    await storage.put('mark', text);
    await storage.sync();
    return { bookmark: await storage.getCurrentBookmark(), alarm: await storage.getAlarm() };
  }

  /** Requests a restore, which happens when the next instance starts. */
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
        probe.timerFires(dueMs);
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
      probe.alarmRings(this.ctx.id.toString(), run!.scheduledTime, run!.retryCount);
      await this.ctx.storage.put('rung', run!.scheduledTime);
    } finally {
      probe.handlerEnded();
    }
  }
}
