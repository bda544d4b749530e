// The bucket of miniflare, asked everything in workerd.

import { askWorkerd } from '../workerd.ts';

export async function bucketInWorkerd(): Promise<Record<string, unknown>> {
  const answers = await askWorkerd({
    main: `
      import { ASKS } from './r2.ts';
      import { answersOf } from './r2-answers.ts';
      import { FURTHER_ASKS } from './r2-more.ts';
      export default {
        fetch: async (_request, { R2 }) =>
          Response.json(await answersOf(R2, { ...ASKS, ...FURTHER_ASKS })),
      };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: '2026-07-01',
    r2Buckets: ['R2'],
    isSilent: true,
  });
  return answers as Record<string, unknown>;
}
