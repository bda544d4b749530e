// Makes a Vite plugin that builds the service worker with the list of the site's files, except the benchmark's, and
// that checks how much a visitor loads first.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { lookup } from 'mrmime';
import type { Plugin } from 'vite';
import { HEADERS_FILE, policyOf } from '../sandbox/sandbox-plugin.ts';
import type { KeptFile } from './kept-file.ts';
import { reachableFiles } from './reachable-files.ts';

/** How many compressed bytes of scripts the playground may load before it can be used. */
const INITIAL_BYTES_MAX = 400_000;

/** The page that is not kept, because its other libraries would double the bytes that every visitor loads. */
const ONLINE_PAGE = 'bench.html';

/** Makes the plugin. It calls `bundled` with each file that goes into the service worker. */
export function offline(bundled: (path: string) => void): Plugin {
  let publicDir = '';
  return {
    name: 'playground-offline',
    apply: 'build',
    configResolved(config) {
      publicDir = config.publicDir;
    },
    generateBundle: {
      order: 'post',
      async handler(_options, bundle) {
        if (this.environment.config.isWorker) return;
        const { [ONLINE_PAGE]: onlinePage, ...others } = bundle;
        if (onlinePage === undefined) throw new Error(`The build has no page ${ONLINE_PAGE}.`);
        const pages = Object.keys(others).filter((name) => name.endsWith('.html'));
        const kept = reachableFiles(others, pages);
        const online = reachableFiles(bundle, [ONLINE_PAGE]);
        const built = Object.values(bundle)
          .filter(({ fileName }) => kept.has(fileName) || !online.has(fileName))
          .map((file) => entryOf(file.fileName, file.type === 'asset' ? file.source : file.code));
        const copied = readdirSync(publicDir).map((name) =>
          entryOf(name, readFileSync(join(publicDir, name))),
        );
        // The file of headers is left out, because hosts do not serve it.
        const entries = [...built, ...copied].filter(
          ({ url }) => !url.endsWith('.map') && url !== HEADERS_FILE,
        );
        const { outputFiles, metafile } = await build({
          entryPoints: [fileURLToPath(new URL('service-worker.ts', import.meta.url))],
          bundle: true,
          format: 'iife',
          target: 'es2022',
          minify: true,
          write: false,
          metafile: true,
          logLevel: 'warning',
          define: { FILES: JSON.stringify(entries), 'process.env.NODE_ENV': '"production"' },
        });
        for (const path of Object.keys(metafile.inputs)) bundled(path);
        const source = outputFiles[0]!.text;
        this.emitFile({ type: 'asset', fileName: 'service-worker.js', source });

        const initialBytes = initialScripts(bundle, 'index').reduce((sum, code) => {
          return sum + gzipSync(code).length;
        }, 0);
        this.info(`The playground loads ${initialBytes} bytes of scripts first, compressed.`);
        if (initialBytes > INITIAL_BYTES_MAX) {
          this.error(`More than ${INITIAL_BYTES_MAX} bytes: load part of it later.`);
        }
      },
    },
  };
}

function entryOf(url: string, content: string | Uint8Array): KeptFile {
  const digest = createHash('sha256').update(content).digest();
  const type = lookup(url) ?? 'application/octet-stream';
  const policy = policyOf(`/${url}`);
  return {
    url,
    revision: digest.toString('hex').slice(0, 16),
    integrity: `sha256-${digest.toString('base64')}`,
    headers: {
      'content-type': type.startsWith('text/') ? `${type};charset=utf-8` : type,
      ...(policy !== undefined && { 'content-security-policy': policy }),
    },
  };
}

type Bundle = Parameters<
  Extract<NonNullable<Plugin['generateBundle']>, (...given: never) => unknown>
>[1];

/** Returns the scripts of an entry and of all its static imports. */
function initialScripts(bundle: Bundle, entry: string): string[] {
  const codes = new Map<string, string>();
  const add = (fileName: string): void => {
    const chunk = bundle[fileName];
    if (chunk?.type !== 'chunk' || codes.has(fileName)) return;
    codes.set(fileName, chunk.code);
    for (const imported of chunk.imports) add(imported);
  };
  const first = Object.values(bundle).find(
    (file) => file.type === 'chunk' && file.isEntry && file.name === entry,
  );
  if (first === undefined) throw new Error(`The build has no entry ${entry}.`);
  add(first.fileName);
  return [...codes.values()];
}
