// Calls of apps with Drizzle and Kysely on a page.

import { runOnHandle } from '../../../packages/adapters/testing/drizzle-program.ts';
import { runAll } from '../../../packages/adapters/testing/kysely-program.ts';

const builders = { drizzle: runOnHandle, kysely: runAll };

declare global {
  interface Window {
    builders: typeof builders;
  }
}

window.builders = builders;
