// A project of a Worker whose tests Vitest runs with `ctx-storage/vitest` of the packed package.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installPacked, linkPackages } from '../package/installed.ts';
import { SOURCE } from './vitest-suite.ts';

/** The wrangler file of the project. */
export const CONFIG = {
  name: 'shop',
  main: 'src/index.ts',
  compatibility_date: '2026-07-01',
  durable_objects: { bindings: [{ name: 'ROOM', class_name: 'Room' }] },
  kv_namespaces: [{ binding: 'CACHE', id: 'abc' }],
  d1_databases: [{ binding: 'DB', database_name: 'shop', database_id: 'xyz' }],
  ai: { binding: 'AI' },
};

/** Variables that the outer Vitest has set, or that change the output of the inner one. */
const OURS = /^(?:CI|NODE_ENV|TEST|DEV|PROD|MODE|SSR|BASE_URL|VITEST.*)$/;

export interface Ran {
  readonly passed: string[];
  readonly failed: string[];
  readonly output: string;
}

export class VitestProject {
  readonly folder: string;

  static async make(): Promise<VitestProject> {
    const project = new VitestProject(mkdtempSync(join(tmpdir(), 'ctx-storage-vitest-')));
    await installPacked(project.folder);
    linkPackages(project.folder, ['vitest', 'vite']);
    project.write('package.json', '{ "name": "shop", "type": "module" }');
    project.write('wrangler.jsonc', JSON.stringify(CONFIG));
    project.write('src/index.ts', SOURCE);
    project.configure('');
    return project;
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** `options`: those of the plugin, as text. */
  configure(options: string): void {
    this.write(
      'vitest.config.ts',
      `import { cloudflareTest } from 'ctx-storage/vitest';
      export default { plugins: [cloudflareTest(${options})] };`,
    );
  }

  /** Runs the tests of the project. */
  run(): Ran {
    const program = join(this.folder, 'node_modules/vitest/vitest.mjs');
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !OURS.test(name)),
    );
    const { stdout, stderr } = spawnSync(process.execPath, [program, 'run', '--reporter=json'], {
      cwd: this.folder,
      env,
      encoding: 'utf8',
    });
    const output = stdout + stderr;
    const report = /^\{.*\}$/m.exec(stdout)?.[0];
    if (report === undefined) return { passed: [], failed: [], output };
    const { testResults } = JSON.parse(report) as {
      testResults: {
        message: string;
        assertionResults: { title: string; status: string; failureMessages: string[] }[];
      }[];
    };
    const results = testResults.flatMap(({ assertionResults }) => assertionResults);
    return {
      passed: results.filter(({ status }) => status === 'passed').map(({ title }) => title),
      failed: results.flatMap(({ failureMessages }) => failureMessages),
      output: [...testResults.map(({ message }) => message), stderr].join('\n'),
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
