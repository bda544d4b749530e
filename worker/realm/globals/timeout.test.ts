// Tests when timers are Node's objects. `npm run test:release` compares their methods with workerd's.

import { expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';

class Timers extends DurableObject {
  kinds(): string[] {
    const timers = [setTimeout(() => {}, 1), setInterval(() => {}, 1)];
    for (const timer of timers) clearTimeout(timer);
    return timers.map((timer) => typeof timer);
  }
}

// workerd 1.20261117.1 gives these types.
test.for<[kind: string, date: string, flags: string[]]>([
  ['number', '2026-02-09', ['nodejs_compat']],
  ['object', '2026-02-10', ['nodejs_compat']],
  ['number', '2026-07-30', []],
  ['number', '2026-07-30', ['nodejs_compat', 'no_nodejs_global_timers']],
  ['object', '2025-09-01', ['enable_nodejs_global_timers']],
  ['number', '2026-07-30', ['nodejs_compat_v2']],
])(
  '[NODE33] a timer is of type %s at %s with the flags %s',
  async ([kind, compatibilityDate, compatibilityFlags]) => {
    const { env, close } = await createObjects(
      { Timers },
      { compatibilityDate, compatibilityFlags },
    );
    expect(await env.Timers.getByName('a').kinds()).toEqual([kind, kind]);
    await close();
  },
);
