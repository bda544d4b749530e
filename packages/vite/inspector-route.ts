// The inspector of a project's objects, on a page of Vite's development server: /__ctx-storage.
//
// Invariant: no build contains it. The page is one of the app's origin, so it reaches the worker that the app's
// tabs use.

import type { Plugin } from 'vite';

const PATH = '__ctx-storage';
const PAGE = 'virtual:ctx-storage/inspector';

// `?directory=…` is for apps that pass one to `connect`.
const SCRIPT = `import start from 'virtual:ctx-storage/start';
import { connect } from 'ctx-storage';
import { mountInspector } from 'ctx-storage/inspector';

const directory = new URLSearchParams(location.search).get('directory');
try {
  const objects = await connect(start, directory === null ? {} : { directory });
  mountInspector(document.body, { objects, clock: objects.clock });
} catch (error) {
  document.body.textContent = String(error);
}
`;

/** A page with nothing but the script that shows the inspector. */
export function inspectorHtml(script: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Objects</title>
<style>
  :root { color-scheme: light dark; }
  html, body { height: 100%; margin: 0; }
</style>
<body>
<script type="module" src="${script}"></script>
</body>
</html>
`;
}

/** In development only. `applyToEnvironment`: where the package's modules are used. */
export function inspectorRoute(
  applyToEnvironment: NonNullable<Plugin['applyToEnvironment']>,
): Plugin {
  return {
    name: 'ctx-storage:inspector',
    apply: 'serve',
    applyToEnvironment,
    resolveId: (id) => (id === PAGE ? PAGE : null),
    load: (id) => (id === PAGE ? SCRIPT : null),
    configureServer(server) {
      const path = `${server.config.base}${PATH}`;
      server.middlewares.use((request, response, next) => {
        const url = request.originalUrl ?? request.url ?? '';
        if (url.split('?')[0] !== path) {
          next();
          return;
        }
        server.transformIndexHtml(url, inspectorHtml(`/@id/${PAGE}`)).then((html) => {
          response.setHeader('content-type', 'text/html');
          response.end(html);
        }, next);
      });
    },
  };
}
