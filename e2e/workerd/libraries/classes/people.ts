// Kysely with `ctx-storage/kysely`, on `ctx.storage`.

import { DurableObject } from 'cloudflare:workers';
import { runAll } from '../../../../packages/adapters/testing/kysely-program.ts';

export class People extends DurableObject {
  run(): Promise<unknown> {
    return runAll(this.ctx.storage);
  }
}
