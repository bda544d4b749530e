// A class with a method that never returns: its worker is stuck, with all objects in it.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';

export class Loop extends DurableObject {
  add(by: number): number {
    const sum = this.sum() + by;
    this.ctx.storage.kv.put('sum', sum);
    return sum;
  }

  sum(): number {
    return this.ctx.storage.kv.get<number>('sum') ?? 0;
  }

  spin(): void {
    for (;;);
  }
}

serve({ Loop });
