// Serves several deployments of an app on one origin, each at an address of its own, like a server while tabs of
// earlier deployments are open. Each is bundled with its own build number and its own version of the protocol.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { REPOSITORY } from '../../browsers/server.ts';
import { serveStatic } from '../../browsers/static-site.ts';
import { bundlePlugins } from '../../package/bundle-plugins.ts';

/** The arguments that a deployment passes to `serve`, whether it has the new method, and its migrations. */
export interface Given {
  readonly build?: number | string;
  /** Columns that its migrations add, one each. @default none, and no migrations */
  readonly columns?: readonly string[];
  /** The column whose migration is marked as breaking. */
  readonly breaking?: string;
  readonly hasCount?: boolean;
}

export interface AppDeployment extends Given {
  /** The version of the protocol that its code speaks. @default this code's */
  readonly protocol?: number;
}

export interface DeploymentsSite {
  /** The page of a deployment has its name as path. */
  readonly origin: string;
  close(): Promise<void>;
}

const PAGE =
  '<!doctype html><title>app</title><link rel="icon" href="data:,"><script type="module" src="page.js"></script>';

export async function startDeployments(
  deployments: Readonly<Record<string, AppDeployment>>,
): Promise<DeploymentsSite> {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-deployments-'));
  for (const [name, deployment] of Object.entries(deployments)) {
    await bundle(join(folder, name), name, deployment);
  }
  const read = (path: string): string | Buffer => {
    if (path.endsWith('/')) return PAGE;
    const isWasm = path.endsWith('/sqlite3.wasm');
    return readFileSync(
      isWasm ? join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm') : join(folder, path),
    );
  };
  const site = await serveStatic(read);
  return {
    origin: site.origin,
    async close() {
      await site.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function bundle(outdir: string, name: string, { protocol, ...given }: AppDeployment) {
  await build({
    bundle: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
    absWorkingDir: REPOSITORY,
    outdir,
    entryPoints: {
      page: 'e2e/specs/deployments/page.ts',
      worker: 'e2e/specs/deployments/worker.ts',
    },
    define: { DEPLOYMENT: JSON.stringify(name), GIVEN: JSON.stringify(given) },
    plugins: [...(protocol === undefined ? [] : [speaking(protocol)]), ...bundlePlugins],
  });
}

/** Code of another version of the protocol, and of no other. */
function speaking(protocol: number): Plugin {
  return {
    name: 'protocol',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]wire[\\/]control\.ts$/ }, ({ path }) => {
        const source = readFileSync(path, 'utf8');
        const changed = source.replace(
          /(PROTOCOL_(?:VERSION|OLDEST)) = \d+/g,
          (_, constant) => `${constant} = ${protocol}`,
        );
        if (changed === source) throw new Error(`${path}: the version was not found`);
        return { contents: changed, loader: 'ts' };
      });
    },
  };
}
