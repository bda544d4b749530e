// The demo as a visitor gets it: built, and served as static files on a free port.
//
// Its sources one by one would do as well, but a page of some 250 modules takes seconds to open, in every test.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, preview } from 'vite';
import { REPOSITORY, type TestServer } from './server.ts';

/** Builds the demo into a folder of its own, and serves that. */
export async function startDemoSite(): Promise<TestServer> {
  const outDir = mkdtempSync(join(tmpdir(), 'ctx-storage-demo-'));
  const site = {
    configFile: join(REPOSITORY, 'vite.config.ts'),
    root: join(REPOSITORY, 'demo'),
    logLevel: 'error',
    build: { outDir, emptyOutDir: true },
  } as const;
  await build(site);
  const server = await preview({ ...site, preview: { host: 'localhost', port: 0 } });
  const address = server.httpServer.address();
  if (address === null || typeof address === 'string') {
    throw new Error('The site of the demo has no port.');
  }
  return {
    origin: `http://localhost:${address.port}`,
    close: async () => {
      await server.close();
      rmSync(outDir, { recursive: true, force: true });
    },
  };
}
