// The demo as a visitor gets it: built, and served as static files on a free port.
//
// Its sources one by one would do as well, but a page of some 250 modules takes seconds to open, in every test. The
// service worker keeps 10 MB of files for later visits, which costs as much as to open a page, and is missing at all
// addresses but those of `OFFLINE`.

import { join } from 'node:path';
import { build, type Plugin, preview } from 'vite';
import { builtOnce } from './built-once.ts';
import { REPOSITORY, type TestServer, withoutNodeEnv } from './server.ts';

const SITE = {
  configFile: join(REPOSITORY, 'vite.config.ts'),
  root: join(REPOSITORY, 'demo'),
  logLevel: 'error',
} as const;

/** The first word of the addresses that have the service worker. */
export const OFFLINE = 'offline';

const serviceWorker: Plugin = {
  name: 'service-worker',
  configurePreviewServer({ middlewares }) {
    middlewares.use('/service-worker.js', ({ headers }, response, next) => {
      if (headers.host?.startsWith(`${OFFLINE}-`)) return next();
      response.writeHead(404).end();
    });
  },
};

/** Builds the demo, once a run. Returns its folder. */
export function buildDemo(): Promise<string> {
  return builtOnce('demo', async (folder) => {
    await withoutNodeEnv(() => build({ ...SITE, build: { outDir: folder, emptyOutDir: true } }));
  });
}

export async function startDemoSite(): Promise<TestServer> {
  const outDir = await buildDemo();
  const server = await withoutNodeEnv(() =>
    preview({
      ...SITE,
      plugins: [serviceWorker],
      build: { outDir },
      preview: { host: 'localhost', port: 0 },
    }),
  );
  const address = server.httpServer.address();
  if (address === null || typeof address === 'string') {
    throw new Error('The site of the demo has no port.');
  }
  return {
    origin: `http://localhost:${address.port}`,
    close: () => server.close(),
  };
}
