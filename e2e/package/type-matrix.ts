// The types of the packed packages, as projects of several versions and settings of TypeScript see them, and
// the reports of tools that check packages.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EMULATOR, manifestOf } from './entry-modules.ts';
import { emulatorBeside } from './pack.ts';

const VERSIONS = ['5.4', '5.9', '6', '7'];
const RESOLUTIONS = { bundler: 'preserve', node16: 'node16', nodenext: 'nodenext' } as const;

const EMULATOR_NAME = manifestOf(EMULATOR).name;

/** Entries that need nothing but a browser's types; the others need those of Node, Vite or React. */
const SOURCE = `
  import { connect, isStorageError, live, openStorage, RpcTarget, type RemoteStorage } from 'ctx-storage';
  import { DurableObject, RpcTarget as ObjectsTarget, type DurableObjectState } from 'ctx-storage/worker';
  import { createObjects } from 'ctx-storage/in-process';
  import { migrate } from 'ctx-storage/migrate';
  import { createManagementApi, type ManagementNamespace, ManagementObject } from '${EMULATOR_NAME}';
  export class Counter extends DurableObject {
    constructor(ctx: DurableObjectState, env: unknown) { super(ctx, env); }
    async add(): Promise<number> { return this.ctx.storage.sql.databaseSize; }
  }
  export async function use(worker: () => Worker): Promise<number> {
    const storage: RemoteStorage = await openStorage('a');
    await storage.put('a', 1);
    const { env } = await connect<{ Counter: Counter }>(worker);
    return env.Counter.getByName('a').add();
  }
  export const same: [ObjectsTarget, typeof ObjectsTarget] = [new RpcTarget(), RpcTarget];
  export const emulated = (namespace: ManagementNamespace) => createManagementApi({ namespace }).fetch;
  export { createObjects, isStorageError, live, ManagementObject, migrate };
`;

type Report = (what: string, ending: string) => void;

/** Checks the packed file, and that of the emulator beside it, in a folder of its own. */
export function checkTypes(root: string, file: string, report: Report): void {
  const run = (program: string, ...parameters: string[]) =>
    spawnSync(program, parameters, { cwd: root, encoding: 'utf8' });
  const tell = (what: string, { status, stdout, stderr }: ReturnType<typeof run>) =>
    report(what, status === 0 ? 'works' : `${stdout}${stderr}`.slice(0, 2000));
  if (!existsSync(join(root, 'node_modules'))) {
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, 'package.json'), '{ "private": true, "type": "module" }');
    writeFileSync(join(root, 'use.ts'), SOURCE);
    const compilers = VERSIONS.map((version) => `ts${version}@npm:typescript@${version}`);
    const tools = ['publint@0.3', '@arethetypeswrong/cli@0.18'];
    const files = [file, emulatorBeside(file)];
    run('npm', 'install', '--no-audit', '--no-fund', ...files, ...compilers, ...tools);
  }
  for (const version of VERSIONS) {
    for (const [moduleResolution, module] of Object.entries(RESOLUTIONS)) {
      const compilerOptions = {
        target: 'es2022',
        lib: ['esnext', 'dom', 'dom.iterable', ...(version === '5.4' ? [] : ['dom.asynciterable'])],
        module,
        moduleResolution,
        types: [],
        strict: true,
        skipLibCheck: false,
        noEmit: true,
      };
      const config = `tsconfig.${moduleResolution}.json`;
      writeFileSync(join(root, config), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
      const tsc = `node_modules/ts${version}/bin/tsc`;
      tell(`TypeScript ${version}, ${moduleResolution}`, run(process.execPath, tsc, '-p', config));
    }
  }
  const checkPackage = (name: string, file: string, ...untyped: string[]) => {
    tell(`publint, ${name}`, run('npx', 'publint', `node_modules/${name}`, '--strict'));
    const profile = ['--profile', 'esm-only', '--exclude-entrypoints', 'package.json', ...untyped];
    tell(`attw, ${name}`, run('npx', 'attw', file, ...profile));
  };
  const scripts = ['worker.js', 'source-worker.js', 'late.js', 'sqlite3.wasm'];
  checkPackage('ctx-storage', file, ...scripts, 'vite/client');
  checkPackage(EMULATOR_NAME, emulatorBeside(file));
}
