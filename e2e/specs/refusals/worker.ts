// The classes of a page whose browser refuses one call.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';

class Counter extends DurableObject {
  async add(): Promise<number> {
    const count = ((await this.ctx.storage.get<number>('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    await this.ctx.storage.setAlarm(Date.now() + 3_600_000);
    return count;
  }

  alarm(): void {}
}

const classes = { Counter };

export type Classes = typeof classes;

serve(classes);
