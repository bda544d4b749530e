// npm run dev:workerd: the page from Vite, the rooms on workerd. They are kept in rooms/.

import { Miniflare } from 'miniflare';
import { build, createServer } from 'vite';

await build({
  configFile: false,
  logLevel: 'warn',
  build: {
    ssr: 'src/server.ts',
    outDir: 'dist-server',
    rollupOptions: { external: ['cloudflare:workers'] },
  },
});

const workerd = new Miniflare({
  modules: true,
  scriptPath: 'dist-server/server.js',
  compatibilityDate: '2026-07-01',
  durableObjects: {
    ROOM: { className: 'Room', useSQLite: true },
    ACCOUNT: { className: 'Account', useSQLite: true },
  },
  durableObjectsPersist: 'rooms',
});

const { href } = await workerd.ready;
const page = await createServer({
  mode: 'workerd',
  // The server compares the page's origin with the Host, which these forward unchanged.
  server: {
    proxy: {
      '/room': { target: href, ws: true },
      '/sign-in': { target: href },
      '/sign-out': { target: href },
    },
  },
});
await page.listen();
page.printUrls();
