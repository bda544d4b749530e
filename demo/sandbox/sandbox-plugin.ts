// Makes a Vite plugin that builds the documents that the playground runs code in, and the headers of the built site.
//
// A stranger's code runs in sandbox.html, which contains its script and allows it by digest. Its worker is bundled into
// one text, because a document without an origin can load none of the site's files. Code of this origin runs in
// code.html.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Connect, Plugin } from 'vite';

const MODULE = 'virtual:playground-sandbox';
const TEXT = 'virtual:playground-sandbox-worker';
export const HEADERS_FILE = '_headers';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * The policy of a stranger's code: it may load and send nothing, and run only addresses that it makes itself.
 */
const sandboxPolicy = (digest: string) => [
  "default-src 'none'",
  `script-src 'sha256-${digest}' blob: 'wasm-unsafe-eval'`,
  'worker-src blob:',
];

/** The policy of code in this origin. Cancelling a call needs `connect-src blob:`. */
const CODE_POLICY = [
  "default-src 'none'",
  "script-src 'self' blob: 'wasm-unsafe-eval'",
  'worker-src blob:',
  "connect-src 'self' blob:",
];

/** The policy of the site's own workers, which comes with their response. */
const WORKER_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "connect-src 'self' blob:",
];

/** The parts of their policies that documents do not contain, because only a header can state them. */
const DOCUMENT_POLICIES: Readonly<Record<string, string>> = {
  sandbox: "sandbox allow-scripts; frame-ancestors 'self'",
  code: "frame-ancestors 'self'",
  ...Object.fromEntries(
    ['index', 'notes', 'devices', 'api', 'bench'].map((name) => [name, "frame-ancestors 'none'"]),
  ),
};

/** The headers by path. Documents have two paths, because Cloudflare Pages redirects to the one without the ending. */
const HEADERS: Readonly<Record<string, string>> = {
  '/assets/*': WORKER_POLICY.join('; '),
  '/': DOCUMENT_POLICIES.index!,
  ...Object.fromEntries(
    Object.entries(DOCUMENT_POLICIES).flatMap(([name, policy]) => [
      [`/${name}.html`, policy],
      [`/${name}`, policy],
    ]),
  ),
};

/** Makes the plugin. It calls `bundled` with each file that goes into the worker of the sandbox. */
export function playgroundSandbox(bundled: (path: string) => void): Plugin {
  return {
    name: 'playground-sandbox',
    resolveId: (id) => (id === MODULE || id === TEXT ? `\0${id}` : null),
    async load(id) {
      if (id === `\0${TEXT}`) return `export default ${JSON.stringify(await workerText(bundled))};`;
      if (id !== `\0${MODULE}`) return null;
      return `export const workerText = () => import('${TEXT}').then((text) => text.default);
export { default as wasmAddress } from '${here('../../worker/engine/vfs/sqlite3.wasm')}?url';`;
    },
    configureServer({ middlewares }) {
      middlewares.use(sendPolicy);
      middlewares.use((request, response, next) => {
        const text = documents()[pathOf(request).slice(1)];
        if (text === undefined) return next();
        response.setHeader('content-type', 'text/html');
        response.end(text);
      });
    },
    configurePreviewServer({ middlewares }) {
      middlewares.use(sendPolicy);
    },
    generateBundle() {
      // The build of a worker has no pages.
      if (this.environment.config.isWorker) return;
      for (const [fileName, source] of Object.entries(documents())) {
        this.emitFile({ type: 'asset', fileName, source });
      }
      this.emitFile({ type: 'asset', fileName: HEADERS_FILE, source: headersText() });
    },
  };
}

const sendPolicy: Connect.NextHandleFunction = (request, response, next) => {
  const policy = policyOf(pathOf(request));
  if (policy !== undefined) response.setHeader('content-security-policy', policy);
  next();
};

/** Returns the policy that a header has to state for a file of the built site. */
export function policyOf(path: string): string | undefined {
  return HEADERS[path.startsWith('/assets/') ? '/assets/*' : path];
}

const pathOf = ({ url = '' }: Connect.IncomingMessage) => url.split('?')[0]!;

/** Returns the headers in the format of Netlify and Cloudflare Pages. Each path is listed, because patterns add up. */
function headersText(): string {
  return Object.entries(HEADERS)
    .map(([path, policy]) => `${path}\n  Content-Security-Policy: ${policy}\n`)
    .join('\n');
}

function documents(): Record<string, string> {
  const script = readFileSync(here('frame.js'), 'utf8');
  const digest = createHash('sha256').update(script).digest('base64');
  return {
    'sandbox.html': documentText('Sandbox', sandboxPolicy(digest), `<script>${script}</script>`),
    'code.html': documentText('Code', CODE_POLICY, ''),
  };
}

function documentText(title: string, policy: readonly string[], body: string): string {
  const whole = [...policy, "base-uri 'none'", "form-action 'none'"].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${whole}">
<title>${title}</title>
</head>
<body>${body}</body>
</html>
`;
}

async function workerText(bundled: (path: string) => void): Promise<string> {
  const { outputFiles, metafile } = await build({
    entryPoints: [here('sandbox-worker.ts')],
    bundle: true,
    // The worker is a classic script, because in a document without an origin every browser can start such a worker.
    format: 'iife',
    target: 'es2022',
    minify: true,
    keepNames: true,
    write: false,
    metafile: true,
    logLevel: 'warning',
    // Some modules compute addresses of other files. None can be loaded here, and none is.
    define: { 'import.meta.url': '"https://sandbox.invalid/"' },
  });
  for (const path of Object.keys(metafile.inputs)) bundled(path);
  return outputFiles[0]!.text;
}
