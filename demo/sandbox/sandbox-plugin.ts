// For Vite: the sandbox of the playground. Its document carries its script, allowed by digest; the worker is bundled into
// one text, because a document without an origin can load none of the site's files.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Plugin } from 'vite';

const MODULE = 'virtual:playground-sandbox';
const TEXT = 'virtual:playground-sandbox-worker';
const DOCUMENT = 'sandbox.html';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export function playgroundSandbox(): Plugin {
  return {
    name: 'playground-sandbox',
    resolveId: (id) => (id === MODULE || id === TEXT ? `\0${id}` : null),
    async load(id) {
      if (id === `\0${TEXT}`) return `export default ${JSON.stringify(await workerText())};`;
      if (id !== `\0${MODULE}`) return null;
      return `export const workerText = () => import('${TEXT}').then((text) => text.default);
export { default as wasmAddress } from '${here('../../worker/vfs/sqlite3.wasm')}?url';`;
    },
    configureServer({ middlewares }) {
      middlewares.use((request, response, next) => {
        if (request.url?.split('?')[0] !== `/${DOCUMENT}`) return next();
        response.setHeader('content-type', 'text/html');
        response.end(documentText());
      });
    },
    generateBundle() {
      // That of a worker's build has no pages.
      if (this.environment.config.isWorker) return;
      this.emitFile({ type: 'asset', fileName: DOCUMENT, source: documentText() });
    },
  };
}

/** Nothing may be loaded, and nothing be sent: of addresses, only those that the code makes itself run. */
function documentText(): string {
  const script = readFileSync(here('frame.js'), 'utf8');
  const digest = createHash('sha256').update(script).digest('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${digest}' blob: 'wasm-unsafe-eval'`,
    'worker-src blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Sandbox</title>
</head>
<body><script>${script}</script></body>
</html>
`;
}

async function workerText(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [here('sandbox-worker.ts')],
    bundle: true,
    // A classic worker: one without an origin can be started from an address of its document in every browser.
    format: 'iife',
    target: 'es2022',
    minify: true,
    keepNames: true,
    write: false,
    logLevel: 'warning',
    // Modules name files beside them; none can be loaded here, and none is.
    define: { 'import.meta.url': '"https://sandbox.invalid/"' },
  });
  return outputFiles[0]!.text;
}
