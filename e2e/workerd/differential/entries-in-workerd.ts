// The worker of entries.ts and the worker that it is bound to, asked everything in workerd.

import { startInWorkerd } from '../workerd.ts';
import { entriesAll, OTHER_ENV, SERVICES } from './entries.ts';

export const COMPATIBILITY_DATE = '2026-07-01';

export async function entriesInWorkerd(): Promise<Record<string, unknown>> {
  const miniflare = await startInWorkerd({
    name: 'main',
    main: `
      import * as bases from 'cloudflare:workers';
      import { workerOf } from './entries.ts';
      const made = workerOf(bases);
      export const { Admin, Bare, Fails, Lobby, Wrong, handler } = made;
      export default made.default;`,
    folder: import.meta.dirname,
    classes: { Lobby: 'Lobby' },
    compatibilityDate: COMPATIBILITY_DATE,
    isSilent: true,
    services: SERVICES,
    others: [
      {
        name: 'other',
        main: `
          import * as bases from 'cloudflare:workers';
          import { otherOf } from './entries.ts';
          const made = otherOf(bases);
          export const { Greeter } = made;
          export default made.default;`,
        env: OTHER_ENV,
      },
    ],
  });
  try {
    return await entriesAll(await miniflare.getWorker('main'));
  } finally {
    await miniflare.dispose();
  }
}
