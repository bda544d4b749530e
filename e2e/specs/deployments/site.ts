// Serves several deployments of an app on one origin, each at an address of its own, like a server while tabs of
// earlier deployments are open. Each is bundled with its own build number and its own version of the protocol.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { builtOnce } from '../../browsers/built-once.ts';
import { REPOSITORY } from '../../browsers/server.ts';
import { type StaticSite, serveStatic } from '../../browsers/static-site.ts';
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

const PAGE =
  '<!doctype html><title>app</title><link rel="icon" href="data:,"><script type="module" src="page.js"></script>';

/** Serves the deployments, each by its name as path. They are built once a run, also for several browsers. */
export async function startDeployments(
  deployments: Readonly<Record<string, AppDeployment>>,
): Promise<StaticSite> {
  const digest = createHash('sha256').update(JSON.stringify(deployments)).digest('hex');
  const folder = await builtOnce(`deployments-${digest.slice(0, 16)}`, async (folder) => {
    for (const [name, deployment] of Object.entries(deployments)) {
      await bundle(join(folder, name), name, deployment);
    }
  });
  return await serveStatic((path) => {
    if (path.endsWith('/')) return PAGE;
    const isWasm = path.endsWith('/sqlite3.wasm');
    return readFileSync(
      isWasm ? join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm') : join(folder, path),
    );
  });
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
