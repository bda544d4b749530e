// A class whose methods are the calls that are counted.

import { DurableObject } from '../../../worker/realm/library/library.ts';

export class Counter extends DurableObject {
  async add(by: number): Promise<number> {
    const { storage } = this.ctx;
    const count = ((await storage.get<number>('count')) ?? 0) + by;
    await storage.put('count', count);
    return count;
  }

  async ringAfter(delayMs: number): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now() + delayMs);
  }

  async alarm(): Promise<void> {
    await this.ctx.storage.put('rang', true);
  }
}
