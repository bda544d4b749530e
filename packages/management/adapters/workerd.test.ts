// Tests that the emulator answers on workerd as it does in Node.

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { runScenario, scenarioOptions } from '../e2e/scenario.ts';
import { createManagementApi } from '../edge/api.ts';
import { ManagementObject } from '../objects/management-object.ts';

/**
 * The module of an app's worker. Its options fix the clock and the ids, so that the answers can be compared with those
 * in Node.
 */
const ENTRY = `
  import { managementWorker } from './adapters.ts';
  import { scenarioOptions } from '../e2e/scenario.ts';
  export { ManagementObject } from '../objects/management-object.ts';
  export default managementWorker('MANAGEMENT', scenarioOptions());
`;

test('[MG37] the same calls have the same answers on workerd and in Node', {
  tags: 'long',
}, async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: ENTRY,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
      loader: 'ts',
    },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  const workerd = new Miniflare({
    modules: true,
    script: outputFiles[0]!.text,
    compatibilityDate: '2026-01-01',
    durableObjects: { MANAGEMENT: { className: 'ManagementObject', useSQLite: true } },
  });
  const objects = await createObjects({ ManagementObject });
  try {
    const there = await runScenario(async (request) => {
      const answer = await workerd.dispatchFetch(request.url, {
        method: request.method,
        headers: [...request.headers],
        ...(request.method !== 'GET' && { body: await request.text() }),
      });
      return answer as unknown as Response;
    });
    const api = createManagementApi({
      ...scenarioOptions(),
      namespace: objects.env.ManagementObject,
    });
    const here = await runScenario(api.fetch);
    expect(there).toEqual(here);
    expect(here).toHaveLength(98);
  } finally {
    await workerd.dispose();
    await objects.close();
  }
});
