import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'vite';
import { expect, test } from 'vitest';
import demo from '../../vite.config.ts';
import { entryModules } from '../package/entry-modules.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

test('[VITE16] [VITE25] the playground has the modules of object code as sources, so it starts before the package is built', async () => {
  const server = await createServer({
    configFile: false,
    root: join(REPOSITORY, 'demo'),
    resolve: demo.resolve!,
    server: { middlewareMode: true, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true, include: [] },
  });
  try {
    const importer = join(REPOSITORY, 'demo/playground/index.ts');
    const modules = entryModules(
      ...(['async-hooks', 'cloudflare-email', 'diagnostics-channel', 'html-rewriter'] as const),
    );
    for (const [name, module] of Object.entries(modules)) {
      expect(existsSync(join(REPOSITORY, module)), module).toBe(true);
      const found = await server.environments.client.pluginContainer.resolveId(
        `ctx-storage/worker/${name}`,
        importer,
      );
      expect(found?.id).toBe(join(REPOSITORY, module));
    }
  } finally {
    await server.close();
  }
});
