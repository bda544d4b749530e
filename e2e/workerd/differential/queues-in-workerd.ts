// The questions of queues.ts asked in workerd.

import { startInWorkerd } from '../workerd.ts';
import { QUEUES } from './queues.ts';

export async function queuesInWorkerd(): Promise<Record<string, unknown>> {
  const miniflare = await startInWorkerd({
    main: `
      import { consume, queuesAll } from './queues.ts';
      export default {
        fetch: async (_request, env) => Response.json(await queuesAll(env)),
        queue: consume,
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    isSilent: true,
    queues: QUEUES,
  });
  try {
    const answers = await miniflare.dispatchFetch('http://workerd/');
    return (await answers.json()) as Record<string, unknown>;
  } finally {
    await miniflare.dispose();
  }
}
