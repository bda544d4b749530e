// Runs scenarios in workerd, the reference, which miniflare starts.
//
// workerd keeps its objects on disk, in a temporary folder that is removed with it.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { build } from 'esbuild';
import { Log, LogLevel, Miniflare } from 'miniflare';
import type { Corpus } from '../corpus.ts';
import type { ListedScenario } from '../scenario.ts';
import type { Implementation, ListedFile } from '../suite.ts';

// Fixes which of workerd's behaviours apply; the corpus was recorded under this date.
const COMPATIBILITY_DATE = '2026-07-30';

/** Starts workerd with the corpus loaded. */
export async function startWorkerd(corpus: Corpus): Promise<Implementation> {
  const main = await bundleMain();
  const directory = mkdtempSync(join(tmpdir(), 'conformance-workerd-'));
  let miniflare = start(corpus, main, directory);
  let objectNumber = 0;

  async function request(parameters: Record<string, string>): Promise<unknown> {
    const response = await miniflare.dispatchFetch(
      `http://runner/?${new URLSearchParams(parameters)}`,
    );
    const text = await response.text();
    if (!response.ok) throw new Error(`workerd answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  return {
    title: `workerd, compatibility date ${COMPATIBILITY_DATE}`,
    known: {},
    list: () =>
      Promise.all(
        corpus.files.map(async (file): Promise<ListedFile> => {
          try {
            return { file, scenarios: (await request({ file })) as ListedScenario[] };
          } catch (error) {
            return { file, scenarios: [], error: String(error) };
          }
        }),
      ),
    run: (file, { name }) => request({ file, name, object: `${name} ${objectNumber++}` }),
    restart: async () => {
      await miniflare.dispose();
      miniflare = start(corpus, main, directory);
    },
    close: async () => {
      await miniflare.dispose();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function start(corpus: Corpus, main: string, directory: string): Miniflare {
  const module = (path: string, file: string) => ({
    type: 'ESModule' as const,
    path: `corpus/${path}`,
    contents: readFileSync(file, 'utf8'),
  });
  return new Miniflare({
    compatibilityDate: COMPATIBILITY_DATE,
    log: new Log(LogLevel.NONE),
    // Exceptions that scenarios provoke are results, not news.
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      stdout.resume();
      stderr.resume();
    },
    modulesRoot: '/',
    modules: [
      { type: 'ESModule', path: 'main.mjs', contents: main },
      ...Object.entries(corpus.tools).map(([path, file]) => module(path, file)),
      ...corpus.files.map((path) => module(path, join(corpus.directory, path))),
    ],
    durableObjectsPersist: directory,
    durableObjects: { OBJECTS: { className: 'TestedObject', useSQLite: true } },
  });
}

async function bundleMain(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'workerd-main.ts')],
    bundle: true,
    format: 'esm',
    target: 'es2024',
    external: ['cloudflare:workers'],
    write: false,
    logLevel: 'warning',
  });
  return outputFiles[0]!.text;
}
