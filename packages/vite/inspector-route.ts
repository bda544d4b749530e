// Serves the inspector of a project's objects at /__ctx-storage of Vite's development server.
//
// Invariant: no build contains the inspector. Its page has the app's origin, so it reaches the same worker as the app's
// tabs.

import type { Plugin } from 'vite';

const PATH = '__ctx-storage';
const PAGE = 'virtual:ctx-storage/inspector';

// An app that passes a directory to `connect` opens the inspector with `?directory=…`.
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

/** Returns a page that has only the script that shows the inspector. */
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

/**
 * Returns the plugin, which works in development only. `applyToEnvironment` chooses environments that use this
 * package's modules.
 */
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
