// The class of the soak: bytes and a function go in, a stream is read back.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';

export interface Classes {
  Cup: Cup;
}

export class Cup extends DurableObject<object> {
  async fill(
    bytes: Uint8Array,
    raise: (level: number) => Promise<number> | number,
  ): Promise<number> {
    const level = await raise(this.ctx.storage.kv.get<number>('level') ?? 0);
    this.ctx.storage.kv.put('level', level % 1000);
    this.ctx.storage.kv.put('bytes', bytes);
    return level;
  }
}

serve({ Cup });
