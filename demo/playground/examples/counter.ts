// A stateful object: it keeps its own storage, and answers calls one by one.
import { DurableObject } from 'cloudflare:workers';

export class Counter extends DurableObject {
  add(step = 1): number {
    const count = (this.ctx.storage.kv.get<number>('count') ?? 0) + step;
    this.ctx.storage.kv.put('count', count);
    console.log('The count is', count);
    return count;
  }

  count(): number {
    return this.ctx.storage.kv.get<number>('count') ?? 0;
  }
}
