// Defects to be put into the package, to see that a torture finds them; and other edits of a bundle.

import { readFileSync } from 'node:fs';
import type { Plugin } from 'esbuild';

/** Text that is replaced in one file of a bundle. */
export interface Edit {
  readonly file: RegExp;
  readonly from: string;
  readonly to: string;
}

export const DEFECTS = {
  /** Writes are acknowledged before they are made. */
  early: {
    file: /wire[\\/]worker-end\.ts$/,
    from: 'return this.#storage.execute(session, calls);',
    to:
      "return calls.every(({ op }) => op === 'put') " +
      '? (setTimeout(() => this.#storage.execute(session, calls), 50), Promise.resolve(calls.map(() => ({ ok: null })))) ' +
      ': this.#storage.execute(session, calls);',
  },
  /** A live read is not opened again when its leader or its object has ended. */
  silent: {
    file: /live[\\/]polled-source\.ts$/,
    from: 'if (this.#failures === 1) continue;',
    to: 'return;',
  },
  /** Live reads do not run for a few of the commits that concern them. */
  missed: {
    file: /live[\\/]live-reads\.ts$/,
    from: '!writes.meets(entry.reads)',
    to: '!writes.meets(entry.reads) || Math.random() < 0.3',
  },
  /** SQL joins the open transaction of another author, which a key or an alarm ends in the middle of a call. */
  torn: {
    file: /sql[\\/]database\.ts$/,
    from: `connection.events.beforeWrite();
      }
      if (watcher !== undefined) this.#tell(query, bindings, policy, watcher);
      if (!query.writes) return undefined;
      connection.events.mustHaveAsked?.();`,
    to: `if (!connection.transactionOpen) connection.events.beforeWrite();
      }
      if (watcher !== undefined) this.#tell(query, bindings, policy, watcher);
      if (!query.writes) return undefined;`,
  },
  /** A live read that is opened again gives its last value again. */
  twice: {
    file: /live[\\/]live-value\.ts$/,
    from: "if (isSame && this.#state.status === 'ready') return;",
    to: '',
  },
} as const satisfies Record<string, Edit>;

export type DefectName = keyof typeof DEFECTS;

/** Puts the defect into the bundle. */
export function breaking(name: DefectName): Plugin {
  return edited(`defect-${name}`, DEFECTS[name]);
}

/** Makes the edit in the bundle. */
export function edited(name: string, { file, from, to }: Edit): Plugin {
  return {
    name,
    setup(bundle) {
      bundle.onLoad({ filter: file }, ({ path }) => {
        const source = readFileSync(path, 'utf8');
        if (!source.includes(from)) throw new Error(`${path}: the place to edit was not found`);
        return { contents: source.replace(from, to), loader: 'ts' };
      });
    },
  };
}
