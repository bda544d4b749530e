// A rate limiter: one object for each client, and a bucket that fills again with time.
import { DurableObject } from 'cloudflare:workers';
import { BUCKET_SIZE, REFILL_MS } from './limits';

interface Bucket {
  tokens: number;
  at: number;
}

export class Limiter extends DurableObject {
  take(cost = 1) {
    const now = Date.now();
    const { tokens, at } = this.ctx.storage.kv.get<Bucket>('bucket') ?? {
      tokens: BUCKET_SIZE,
      at: now,
    };
    const filled = Math.min(BUCKET_SIZE, tokens + (now - at) / REFILL_MS);
    if (filled < cost) {
      return { isAllowed: false, retryAfterMs: Math.ceil((cost - filled) * REFILL_MS) };
    }
    this.ctx.storage.kv.put('bucket', { tokens: filled - cost, at: now });
    return { isAllowed: true, left: Math.floor(filled - cost) };
  }

  override async fetch(): Promise<Response> {
    const taken = this.take();
    return Response.json(taken, { status: taken.isAllowed ? 200 : 429 });
  }
}
