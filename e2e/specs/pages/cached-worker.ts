// The class of cached.ts: a call that waits for another one, and a sum to follow.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';

export interface Classes {
  Room: Room;
}

export class Room extends DurableObject<object> {
  #release = (_answer: string): void => {};

  /** Is answered by `release`. */
  wait(): Promise<string> {
    return new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(answer: string): void {
    this.#release(answer);
  }

  add(number: number): number {
    const sum = this.sum() + number;
    this.ctx.storage.kv.put('sum', sum);
    return sum;
  }

  sum(): number {
    return this.ctx.storage.kv.get<number>('sum') ?? 0;
  }
}

serve({ Room });
