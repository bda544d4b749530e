// Counts the source files and the functions that a call runs through, by V8's precise coverage.
//
// Invariant: the count depends on the code alone. Each call is made several times, and a function counts if each
// time ran it: a timer or a collection that falls into one of them is not part of the call.

import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** The named functions that a call runs, by the file that has them, relative to the repository. */
export type CallPath = ReadonlyMap<string, ReadonlySet<string>>;

type Call = () => Promise<unknown>;

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const WARM_CALLS = 5;
const REPEATS = 5;
/** Turns of the event loop in which work that follows an answer ends: flushes, and messages between two threads' ends. */
const SETTLE_TURNS = 20;

export class Coverage {
  readonly #inspector = new Session();

  static async start(): Promise<Coverage> {
    const coverage = new Coverage();
    const inspector = coverage.#inspector;
    inspector.connect();
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return coverage;
  }

  /** Where the call and the work that follows it run. The first calls are not counted: they warm it. */
  async pathOf(call: Call, prepare: Call = async () => {}): Promise<CallPath> {
    const once = async () => {
      await prepare();
      return this.#once(call);
    };
    for (let i = 0; i < WARM_CALLS; i++) await once();
    let path = await once();
    for (let i = 1; i < REPEATS; i++) path = common(path, await once());
    return path;
  }

  stop(): void {
    this.#inspector.disconnect();
  }

  async #once(call: Call): Promise<CallPath> {
    await settled();
    await this.#inspector.post('Profiler.takePreciseCoverage');
    await call();
    await settled();
    const { result } = await this.#inspector.post('Profiler.takePreciseCoverage');
    const path = new Map<string, Set<string>>();
    for (const { url, functions } of result) {
      const file = productFile(url);
      const ran = functions.filter(({ ranges }) => ranges[0]!.count > 0);
      if (file === undefined || ran.length === 0) continue;
      const names = ran.map(({ functionName, ranges }) =>
        functionName === '' ? '' : `${functionName} ${ranges[0]!.startOffset}`,
      );
      path.set(file, new Set(names.filter((name) => name !== '')));
    }
    return path;
  }
}

/** How many functions a path has. */
export function functionCount(path: CallPath): number {
  return [...path.values()].reduce((count, names) => count + names.size, 0);
}

function common(one: CallPath, other: CallPath): CallPath {
  const files = [...one].filter(([file]) => other.has(file));
  return new Map(files.map(([file, names]) => [file, intersection(names, other.get(file)!)]));
}

function intersection(one: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> {
  return new Set([...one].filter((name) => other.has(name)));
}

/** The file of the product that a script is; undefined for all others. */
function productFile(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined;
  const path = fileURLToPath(url);
  if (!path.startsWith(ROOT)) return undefined;
  const file = path.slice(ROOT.length);
  return /^(src|worker)\/(?!testing\/)/.test(file) ? file : undefined;
}

async function settled(): Promise<void> {
  for (let i = 0; i < SETTLE_TURNS; i++) await new Promise((resolve) => setImmediate(resolve));
}
