// The class that the benchmark of tabs calls.

import { DurableObject, serve } from '../../worker/start/entries/objects.ts';

export class Counter extends DurableObject {
  add(): number {
    const count = (this.ctx.storage.kv.get<number>('count') ?? 0) + 1;
    this.ctx.storage.kv.put('count', count);
    return count;
  }

  echo(value: number): number {
    return value;
  }
}

serve({ Counter });
